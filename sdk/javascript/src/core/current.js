/**
 * Which request the running code works for, across awaits. To know that costs every request some
 * microseconds, so it is known only from when somebody wants to know.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

let storage;

/** From the next request on `currentRequest` knows. */
export function trackRequests() {
  storage ??= new AsyncLocalStorage();
}

/** The request; undefined if that is not known. */
export function currentRequest() {
  return storage?.getStore();
}

/** Does the work of a request. */
export function within(request, work) {
  return storage ? storage.run(request, work) : work();
}
