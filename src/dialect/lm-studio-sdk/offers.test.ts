import { expect, test } from 'vitest'
import { encodeOptions, encodeSearch } from './offers.ts'

const model = { sizeBytes: 9, trained: 8192, abilities: [], fits: true }
const offers = {
  models: [
    { ...model, name: 'a:1b', title: 'A 1B', isProposed: false },
    { ...model, name: 'b:2b', title: 'B 2B', isProposed: true },
  ],
  repositories: [{ name: 'hf.co/owner/b', downloads: 1, likes: 1, abilities: [] }],
}

test.each([
  [{}, ['A 1B', 'B 2B', 'owner/b']],
  [{ searchTerm: 'Owner/B' }, ['owner/b', 'A 1B', 'B 2B']],
  [{ searchTerm: 'b:2b', limit: 1 }, ['B 2B']],
  [{ compatibilityTypes: ['safetensors'] }, []],
])('a search for %j has what is named exactly first, and only files that run here', (search, names) => {
  expect(encodeSearch(offers, search).results.map(({ name }) => name)).toEqual(names)
})

test('a repository offers each of its files, and a short name the one that it means', () => {
  const files = [
    { quantization: 'Q4_K_M', sizeBytes: 4, fits: true, isProposed: true },
    { quantization: 'Q8_0', sizeBytes: 8, fits: false, isProposed: false },
  ]
  const found = { id: 'b', isGguf: true, readsImages: false, offers: files }
  const named = (identifier: string) => encodeOptions(identifier, found).results.map((option) => option.downloadIdentifier)
  expect(named('owner/b')).toEqual(['owner/b:Q4_K_M', 'owner/b:Q8_0'])
  expect(named('b:2b')).toEqual(['b:2b'])
  expect(encodeOptions('owner/b', found).results[1]).toMatchObject({ fitEstimation: 'willNotFit', recommended: false })
})
