import { createHash } from 'node:crypto'
import type { CompiledGrammar } from './grammar-builder.ts'

/** The grammars that were used last: agents send the same tools with every request. */
export type GrammarCache = {
  /** The grammar of `key` (plain data, hashed as JSON), made by `make` if it is missing. Failures are not kept. */
  find(key: unknown, make: () => CompiledGrammar): CompiledGrammar
  /** The grammar of a key, if it is kept. */
  peek(key: unknown): CompiledGrammar | undefined
}

/** Drops the least recently used grammars above a number of entries, or of characters in all. */
export function createGrammarCache({ entries = 64, chars = 16_000_000 } = {}): GrammarCache {
  const known = new Map<string, CompiledGrammar>()
  let size = 0
  const forget = (key: string): void => {
    size -= known.get(key)?.grammar.length ?? 0
    known.delete(key)
  }
  return {
    find(key, make) {
      const hash = hashOf(key)
      const found = known.get(hash) ?? make()
      forget(hash)
      known.set(hash, found)
      size += found.grammar.length
      for (const oldest of known.keys()) {
        if (known.size <= entries && size <= chars) break
        forget(oldest)
      }
      return found
    },
    peek: (key) => known.get(hashOf(key)),
  }
}

function hashOf(key: unknown): string {
  return createHash('sha256').update(JSON.stringify(key)).digest('base64')
}
