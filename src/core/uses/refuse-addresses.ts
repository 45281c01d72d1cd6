import { AppError } from '../../contract/errors.ts'
import type { ServiceBody } from '../../contract/services.ts'

/** Fields whose text is spoken, drawn or stored as it is: an address in them is only text. */
const texts: ReadonlySet<string> = new Set(['input', 'prompt', 'negative_prompt', 'instructions', 'text', 'user', 'metadata'])
/** The scheme of `file:/path`; all others have `://`, which occurs neither in base64 nor in a `data:` URL of it. */
const fileScheme = /^\s*file:/i

/**
 * Throws `unsupported-field` for a field that contains an address: bodies are passed on with all their fields, and a server that fetches
 * addresses for a caller would reach what the caller cannot.
 */
export function refuseAddresses(body: ServiceBody): void {
  const fields =
    body.type !== 'form'
      ? Object.entries(body.fields)
      : body.parts.flatMap((part): [string, unknown][] => ('value' in part ? [[part.name, part.value]] : []))
  for (const [name, value] of fields) {
    if (!texts.has(name) && holdsAddress(value)) {
      const message = `'${name.slice(0, 80)}' holds a URL, and nothing that a caller names is fetched behind this server: send the data itself`
      throw new AppError('unsupported-field', message, { param: name })
    }
  }
}

/** Not recursive: JSON can nest as deep as it is long. */
function holdsAddress(value: unknown): boolean {
  const waiting = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next === 'string' && (next.includes('://') || fileScheme.test(next))) return true
    if (typeof next === 'object' && next !== null) for (const inner of Object.values(next)) waiting.push(inner)
  }
  return false
}
