/** "Did you mean …?" */

/** How many characters differ, at most one row of the table in memory. */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 0; i < one.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j += 1) {
      next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (one[i] === other[j] ? 0 : 1)));
    }
    row = next;
  }
  return row[other.length];
}

/** The candidate that was probably meant; undefined if none is near. */
export function suggest(given, candidates) {
  const word = String(given).toLowerCase().slice(0, 64);
  const near = candidates
    .map((candidate) => ({ candidate, far: distance(word, String(candidate).toLowerCase().slice(0, 64)) }))
    .sort((one, other) => one.far - other.far);
  return near.length > 0 && near[0].far <= Math.floor(word.length / 2) + 1
    ? String(near[0].candidate)
    : undefined;
}
