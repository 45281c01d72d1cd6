/**
 * What a server wants back with a block of reasoning: the signature of Messages, the data of a redacted block, or what Responses have
 * besides the text. Marked, because the next request may go to a server of another protocol, which must not see it.
 */
export type Opaque = { readonly type: 'signature' | 'redacted' | 'thought'; readonly value: string }

const types: readonly Opaque['type'][] = ['signature', 'redacted', 'thought']

/** As the `opaque` of a part of reasoning. */
export function writeOpaque({ type, value }: Opaque): string {
  return `${type}:${value}`
}

/** Undefined for what no server made. */
export function readOpaque(opaque: string | undefined): Opaque | undefined {
  const type = types.find((name) => opaque?.startsWith(`${name}:`))
  return type === undefined || opaque === undefined ? undefined : { type, value: opaque.slice(type.length + 1) }
}
