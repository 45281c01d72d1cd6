import { expect, test } from 'vitest'
import { has } from '../../compat/checks.ts'
import { allMutants, type Mutant, mutated } from '../../compat/mutants/mutant.ts'
import { runMutants } from '../../compat/mutants/run-mutants.ts'
import { elsewhere, get, type System, shownBy, works } from '../../compat/row.ts'

const root = process.cwd()
const system: System = {
  title: 'a system',
  prefix: 'Z',
  introduction: '',
  groups: [
    {
      title: 'rows',
      rows: [
        works(1, 'what a request shows', elsewhere(get('/llm/v1/models', has('data.0.id', 'any')))),
        works(2, 'what a test shows', shownBy('../src/core/cancel/cancel-requested.test.ts', 'C19: is forgotten')),
      ],
    },
  ],
}
const file = 'src/core/cancel/early-cancels.ts'
const longer: Mutant = { rows: ['Z2'], file, find: 'keptMs = 30_000', replace: 'keptMs = 300_000' }

test('a change that a row does not notice is named, and one that its row notices counts', async () => {
  const said: string[] = []
  const mutants: Mutant[] = [
    longer,
    { ...longer, rows: ['Z1'] },
    { rows: ['Z1'], file: 'src/dialect/openai/models.ts', find: 'data: models.map(encodeModel)', replace: 'data: []' },
  ]
  const noticed = await runMutants({ systems: [system], mutants, root, workers: 1, say: (line) => said.push(line) })
  expect(said).toEqual([`Z1 did not notice: ${file}: keptMs = 30_000 -> keptMs = 300_000`])
  expect(noticed).toBe(2)
})

test('each change finds its text in the sources', async () => {
  expect((await allMutants()).map((mutant) => mutated(mutant, root))).not.toEqual([])
})

test('a change of a text that is not there, or is there twice, is an error', () => {
  expect(() => mutated({ ...longer, find: 'keptMs = 1' }, root)).toThrow('nowhere')
  expect(() => mutated({ ...longer, find: 'this' }, root)).toThrow('more than once')
})
