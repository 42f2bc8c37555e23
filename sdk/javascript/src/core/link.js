/** The way to the bridge, for everybody who has something to say. */
import { ToolError } from '../errors.js';

let peer;

/** From now on this peer is the way. */
export function connectTo(it) {
  peer = it;
}

/** Sends a message that wants no answer; without a bridge nobody hears it. */
export function tell(kind, body) {
  peer?.send(kind, body);
}

/** Asks the bridge on behalf of a request, or of nobody. */
export function ask(kind, body, request) {
  const way = request?.peer ?? peer;
  if (way) return way.ask(kind, body, request);
  const error = new ToolError('there is no bridge: run this file with `pmcp dev FILE`', {
    code: 'NO_BRIDGE',
  });
  return Promise.reject(error);
}
