import { createHash } from 'node:crypto'
import type { CompiledGrammar } from './grammar-builder.ts'

/** Remembers the grammars that were made last: agents send the same tools with every request. */
export type GrammarCache = {
  /** The grammar that `make` gives for what `key` describes (a plain value, hashed as JSON). A failure is not remembered. */
  find(key: unknown, make: () => CompiledGrammar): CompiledGrammar
  /** The grammar that is there for a key. */
  peek(key: unknown): CompiledGrammar | undefined
}

/** A cache that forgets the least recently used grammars past a number of them, or past a number of characters together. */
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
