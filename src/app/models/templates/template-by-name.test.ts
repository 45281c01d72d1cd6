import { pino } from 'pino'
import { expect, test } from 'vitest'
import { modelSchema } from '../../../config/schema.ts'
import { findTemplateByName, namesOf } from './template-by-name.ts'

type Listed = { readonly [name: string]: string }

const llama = { engine: 'llama', id: 'qwen', source: '/models/Qwen3-4B-Q4_K_M.gguf' } as const
const parse = (settings: object) => modelSchema.parse({ ...llama, ...settings })

function find(settings: object, listed: Listed, broken?: Error) {
  const lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
  const templates = {
    find: async (names: readonly string[]) => {
      if (broken !== undefined) throw broken
      const name = names.find((one) => listed[one] !== undefined)
      return name === undefined ? undefined : { name, path: `/t/${name}.jinja` }
    },
    read: async (name: string) => listed[name],
  }
  return { lines, found: findTemplateByName(parse(settings), { templates, log }) }
}

test.each<[string, object, readonly string[]]>([
  ['its id, then its aliases, then its file', { aliases: ['default', 'q:4b'] }, ['qwen', 'default', 'q:4b', 'Qwen3-4B-Q4_K_M']],
  ['also without an owner', { id: 'Qwen/Qwen3-4B' }, ['Qwen/Qwen3-4B', 'Qwen3-4B', 'Qwen3-4B-Q4_K_M']],
  ['a file in parts without its number', { source: '/m/Big-00001-of-00003.gguf' }, ['qwen', 'Big']],
  [
    'what its servers call it',
    { engine: 'remote', source: undefined, endpoints: [{ url: 'http://a' }], upstreamModel: 'o/up' },
    ['qwen', 'o/up', 'up'],
  ],
  ['never what each model calls its own', { id: 'model', source: '/m/model.gguf' }, []],
])('a model is known by %s', (_, settings, names) => {
  const given = Object.fromEntries(Object.entries({ ...llama, ...settings }).filter(([, value]) => value !== undefined))
  expect(namesOf(modelSchema.parse(given))).toEqual(names)
})

test('the first of its names that is in the folder wins, and the log says so', async () => {
  const { found, lines } = find({ aliases: ['a'] }, { 'Qwen3-4B-Q4_K_M': 'file', a: 'alias', other: 'x' })
  expect(await found).toEqual({ type: 'named', name: 'a', source: 'alias', path: '/t/a.jinja' })
  expect(lines).toEqual([expect.stringContaining("'a' of the folder of templates")])
})

test('a part of a name is another name', async () => {
  const { found, lines } = find({}, { Qwen3: 'x', qwen3: 'y' })
  expect([await found, lines]).toEqual([undefined, []])
})

test('a configured template wins', async () => {
  expect(await find({ chatTemplate: '/my.jinja' }, { qwen: 'x' }).found).toBeUndefined()
})

test('a folder that cannot be read keeps no model from loading', async () => {
  const { found, lines } = find({}, {}, new Error('no such folder'))
  expect([await found, lines]).toEqual([undefined, [expect.stringContaining('no chat template was looked for')]])
})
