import { parseJson } from '../../base/json.ts'
import type { Sealer } from '../../contract/sealer.ts'

/** A block of reasoning, a summary of a conversation, or the result of a server tool; none can pass for another. */
type Sealed = {
  readonly kind: 'thought' | 'summary' | 'result'
  readonly text: string
  /** The upstream's signature or encrypted content. */
  readonly opaque?: string | undefined
}

/** The signature of reasoning, or the `encrypted_content` of an item. */
export function seal(sealer: Sealer, content: Sealed): string {
  return sealer.seal(JSON.stringify(content))
}

/** Undefined for content that another server encrypted, or of another kind. */
export function unseal(sealer: Sealer, encrypted: string, kind: Sealed['kind']): Omit<Sealed, 'kind'> | undefined {
  const json = sealer.open(encrypted)
  if (json === undefined) return undefined
  // Not JSON: sealed here, but by another protocol.
  const value = parseJson(json)
  return isSealed(value) && value.kind === kind ? value : undefined
}

function isSealed(value: unknown): value is Sealed {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !('text' in value)) return false
  return typeof value.kind === 'string' && typeof value.text === 'string'
}
