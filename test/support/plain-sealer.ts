import type { Sealer } from '../../src/contract/sealer.ts'

/** Seals that a test can read. */
export const plainSealer: Sealer = {
  seal: (text) => `sealed:${text}`,
  open: (sealed) => (sealed.startsWith('sealed:') ? sealed.slice('sealed:'.length) : undefined),
}

/** The signature that `plainSealer` gives a thought. */
export function sealed(text: string, opaque?: string): string {
  return plainSealer.seal(JSON.stringify({ kind: 'thought', text, opaque }))
}
