/**
 * The data that a server wants back with a block of reasoning: the signature of Messages, the data of a redacted block, or an item of
 * Responses besides its text. Marked, because the next request may go to a server of another protocol, which must not see it.
 */
type Opaque = { readonly type: 'signature' | 'redacted' | 'thought'; readonly value: string }

const types: readonly Opaque['type'][] = ['signature', 'redacted', 'thought']

/** The data as the `opaque` of a part of reasoning. */
export function writeOpaque({ type, value }: Opaque): string {
  return `${type}:${value}`
}

/** Undefined for data that no server made. */
export function readOpaque(opaque: string | undefined): Opaque | undefined {
  const type = types.find((name) => opaque?.startsWith(`${name}:`))
  return type === undefined || opaque === undefined ? undefined : { type, value: opaque.slice(type.length + 1) }
}
