/** Cuts a stream of bytes into frames. */
import { Buffer } from 'node:buffer';

import { WireError } from './codec.js';

/** Protobuf libraries count in signed 32 bits. */
const LENGTH_MAX = 2 ** 31 - 1;

export class FrameReader {
  /** Pieces of a frame that is not complete, and their bytes together. */
  #pieces = [];

  #held = 0;

  /** How many bytes the frame takes, its length included, once that is known. */
  #wanted = 4;

  /**
   * Takes in bytes. Calls `each(bytes, begin, end)` for every body that is complete; the bytes
   * are good during the call only.
   */
  push(chunk, each) {
    let bytes = chunk;
    if (this.#held > 0) {
      this.#pieces.push(chunk);
      this.#held += chunk.length;
      // The pieces of a large frame are put together once, when all are there.
      if (this.#held < this.#wanted) return;
      bytes = Buffer.concat(this.#pieces, this.#held);
      this.#pieces.length = 0;
      this.#held = 0;
    }
    let begin = 0;
    this.#wanted = 4;
    while (bytes.length - begin >= 4) {
      const length = bytes.readUInt32BE(begin);
      if (length > LENGTH_MAX) throw new WireError(`it announces ${length} bytes`);
      this.#wanted = 4 + length;
      if (bytes.length - begin < this.#wanted) break;
      each(bytes, begin + 4, begin + this.#wanted);
      begin += this.#wanted;
      this.#wanted = 4;
    }
    if (begin < bytes.length) {
      this.#held = bytes.length - begin;
      this.#pieces.push(begin === 0 ? bytes : bytes.subarray(begin));
    }
  }
}
