import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allMutants, mutated } from '../compat/mutants/mutant.ts'

const root = join(import.meta.dirname, '../..')

test('what `npm run compat -- --mutants` breaks is in the sources, once', async () => {
  const mutants = await allMutants()
  const gone = mutants.flatMap((mutant) => {
    try {
      mutated(mutant, root)
      return []
    } catch (error) {
      return [String(error)]
    }
  })
  expect(mutants.length).toBeGreaterThan(200)
  expect(gone).toEqual([])
})
