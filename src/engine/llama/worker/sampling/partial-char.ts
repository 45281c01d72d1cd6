import type { EffortMeter, GrammarMachine, MachineState } from '../../../../grammar/run/machine.ts'

/** The first bytes of a character in UTF-8. */
export type PartialChar = {
  readonly value: number
  readonly missing: number
  /** The least code point that takes this many bytes. */
  readonly least: number
}

/** A place in an output, possibly inside a character. */
type OutputPosition = { readonly state: MachineState; readonly partial: PartialChar | undefined }

type MatchedGrammar = { readonly machine: GrammarMachine; readonly meter: EffortMeter }

/** The place after some bytes; undefined where the grammar does not allow them, or they are not UTF-8. */
export function readBytes(
  { machine, meter }: MatchedGrammar,
  from: OutputPosition,
  bytes: Uint8Array,
): OutputPosition | undefined {
  let { state, partial } = from
  for (const byte of bytes) {
    const read: PartialChar | undefined = partial === undefined ? firstByte(byte) : nextByte(partial, byte)
    if (read === undefined) return undefined
    if (read.missing > 0) {
      partial = read
      continue
    }
    partial = undefined
    const next = read.value < read.least ? undefined : machine.step(state, read.value, meter)
    if (next === undefined) return undefined
    state = next
  }
  return partial === undefined || machine.allowsAnyOf(state, boundsOf(partial), meter) ? { state, partial } : undefined
}

function firstByte(byte: number): PartialChar | undefined {
  if (byte < 0x80) return { value: byte, missing: 0, least: 0 }
  if (byte >= 0xc2 && byte < 0xe0) return { value: byte & 0x1f, missing: 1, least: 0x80 }
  if (byte >= 0xe0 && byte < 0xf0) return { value: byte & 0x0f, missing: 2, least: 0x800 }
  if (byte >= 0xf0 && byte < 0xf5) return { value: byte & 0x07, missing: 3, least: 0x10000 }
  return undefined
}

function nextByte({ value, missing, least }: PartialChar, byte: number): PartialChar | undefined {
  return (byte & 0xc0) === 0x80 ? { value: value * 64 + (byte & 0x3f), missing: missing - 1, least } : undefined
}

/** The range of characters that begin with these bytes. */
function boundsOf({ value, missing, least }: PartialChar): readonly [number, number] {
  const low = value * 64 ** missing
  return [Math.max(low, least), low + 64 ** missing - 1]
}
