import type { CanonicalPath } from '../../contract/field.ts'

/** Maps canonical paths, joined with dots, to the spellings of a protocol; the first is the protocol's own. */
export type FieldNames = Readonly<Record<string, readonly [string, ...string[]]>>

/**
 * The client's name for a canonical path: the spelling in the request, or the protocol's own. The longest known prefix of the path decides;
 * the rest is appended, as in `messages[0].content[1]`.
 */
export function nameField(names: FieldNames, wire: object, path: CanonicalPath): string {
  for (let length = path.length; length > 0; length--) {
    const place = path.slice(0, length).join('.')
    // A caller's text can look like a path, even one to `constructor`.
    const known = Object.hasOwn(names, place) ? names[place] : undefined
    if (known !== undefined) return (known.find((name) => isSent(wire, name)) ?? known[0]) + formatRest(path.slice(length))
  }
  return formatRest(path).replace(/^\./, '')
}

/** The steps of a path that follow a name. */
export function formatRest(path: CanonicalPath): string {
  return path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
}

function isSent(wire: object, name: string): boolean {
  const value: unknown = Reflect.get(wire, name)
  return value !== undefined && value !== null
}
