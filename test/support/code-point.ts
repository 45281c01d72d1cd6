import fc from 'fast-check'

/** Any character, as a unit of strings. fast-check's own, `binary`, fills a map with all of them, in a second of each process. */
export const codePoint = fc
  .oneof(fc.nat(0x7f), fc.nat(0x10f7ff))
  .map((place) => String.fromCodePoint(place < 0xd800 ? place : place + 0x800))
