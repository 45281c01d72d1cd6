import { describe, expect, test } from 'vitest'
import { catalogue, findCatalogued } from './catalogue.ts'
import { parseSource } from './sources.ts'

describe('the catalogue', () => {
  test.each(catalogue.map((model) => [model.shortName, model] as const))('%s is a source of a repository', (shortName, model) => {
    expect(shortName).toMatch(/^[a-z0-9.-]+:[a-z0-9.]+$/)
    expect(parseSource(shortName)).toEqual(parseSource(model.source))
    expect(parseSource(shortName)).toMatchObject({ type: 'hf-repository', revision: 'main' })
  })

  test('the catalogue has each name once, in any case of letters', () => {
    expect(new Set(catalogue.map(({ shortName }) => shortName)).size).toBe(catalogue.length)
    expect(findCatalogued('Qwen3:8B')?.source).toBe('hf:bartowski/Qwen_Qwen3-8B-GGUF')
    expect(findCatalogued('qwen3')).toBeUndefined()
  })

  test('the catalogue names the sizes of a family, or what a source looks like', () => {
    expect(() => parseSource('qwen3:7b')).toThrow(
      "'qwen3:7b' is not a model source: short names like it are qwen3:0.6b, qwen3:1.7b, qwen3:4b, qwen3:8b, qwen3:14b, qwen3:30b, qwen3:32b",
    )
    expect(() => parseSource('smolm2')).toThrow("'smolm2' is not a model source: short names like it are smollm2:1.7b")
    expect(() => parseSource('llama3')).toThrow('are llama3.1:8b, llama3.2:1b, llama3.2:3b, llama3.3:70b')
    expect(() => parseSource('nonesuch')).toThrow('builtin:FILE.gguf, or a short name of `dragoman search`')
    expect(() => parseSource('nonesuch:7b')).toThrow("'nonesuch:' is not known; write ./model.gguf, hf:")
  })
})
