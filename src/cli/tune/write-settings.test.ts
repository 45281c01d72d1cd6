import { lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { withSettings, writeSettings } from './write-settings.ts'

const text = `# my models
models:
  - id: other
    source: ./o.gguf
  - id: m # the large one
    source: ./m.gguf
    cacheTypeK: q8_0
    draft: { source: ./d.gguf, maxTokens: 8 }
server:
  port: 1
`
const change = { id: 'm', isJson: false }

test('settings are written into their model, others are removed, and comments stay', () => {
  const written = withSettings(text, { ...change, settings: { threads: 3, cacheTypeK: undefined } }) ?? ''
  expect(written).toContain('# my models')
  expect(written).toContain('id: m # the large one')
  expect(parse(written)).toEqual({
    models: [
      { id: 'other', source: './o.gguf' },
      { id: 'm', source: './m.gguf', draft: { source: './d.gguf', maxTokens: 8 }, threads: 3 },
    ],
    server: { port: 1 },
  })
})

test('the source of a draft stays as it is written', () => {
  const draft = { source: [{ type: 'path', path: '/absolute/d.gguf' }], maxTokens: 4 }
  const written = withSettings(text, { ...change, settings: { draft } }) ?? ''
  expect(parse(written).models[1].draft).toEqual({ source: './d.gguf', maxTokens: 4 })
})

test('JSON stays JSON', () => {
  const written = withSettings(JSON.stringify(parse(text)), { ...change, isJson: true, settings: { threads: 3 } }) ?? ''
  expect(JSON.parse(written).models[1].threads).toBe(3)
})

/** Each is written as nobody's library would. */
const places: readonly [name: string, before: string, settings: Readonly<Record<string, unknown>>, after: string][] = [
  [
    'a changed and a new value, and the end of the line',
    '# top\n\nmodels:\n- id:   m   # the one\n  threads:   2    # cores\n\n\n  # last\nserver: {port:   1}   # p\n',
    { threads: 3, batchSize: 64 },
    '# top\n\nmodels:\n- id:   m   # the one\n  threads:   3    # cores\n  batchSize: 64\n\n\n  # last\nserver: {port:   1}   # p\n',
  ],
  [
    'a value behind the dash, which is removed',
    'models:\n  -   threads: 2 # a\n      id: m\n  - id: o   # b\n',
    { threads: undefined },
    'models:\n  -   id: m\n  - id: o   # b\n',
  ],
  [
    'values in several lines',
    'models:\n  - id: m\n    draft:\n      source:   "./d.gguf"  # small\n      maxTokens:   8\n    # end\n',
    { draft: { source: [], maxTokens: 4, minTokens: 1 } },
    'models:\n  - id: m\n    draft:\n      source:   "./d.gguf"  # small\n      maxTokens:   4\n      minTokens: 1\n    # end\n',
  ],
  [
    'a value in several lines, which is removed or replaced',
    'models:\n  - id: m\n    speculation:\n      type:   ngram\n    draft:\n      source:   d # d\n    # end\nx:   1\n',
    { speculation: { type: 'mtp', maxTokens: 2 }, draft: undefined },
    'models:\n  - id: m\n    speculation:\n      { type: mtp, maxTokens: 2 }\n    # end\nx:   1\n',
  ],
  [
    'a map in one line',
    'models: [{id:   m,threads: 1, source: "a.gguf" }, {id: o}]   # all',
    { threads: undefined, cacheTypeK: 'q8_0', flashAttention: true },
    'models: [{id:   m, source: "a.gguf", cacheTypeK: q8_0, flashAttention: true }, {id: o}]   # all',
  ],
  [
    'an empty value',
    'models:\n  - id: m\n    threads:\n    batchSize: # none\n    seed:   7\n',
    { threads: 3, batchSize: 64 },
    'models:\n  - id: m\n    threads: 3\n    batchSize: 64 # none\n    seed:   7\n',
  ],
  [
    'lines of Windows',
    'models:\r\n  - id: m\r\n    threads:   2\r\nx:   1\r\n',
    { threads: 4, batchSize: 64 },
    'models:\r\n  - id: m\r\n    threads:   4\r\n    batchSize: 64\r\nx:   1\r\n',
  ],
  [
    'JSON',
    '{\n    "models": [\n        {\n            "id": "m",\n            "threads":2\n        }],\n  "x":   1 }\n',
    { threads: 3, draft: { maxTokens: 1 } },
    '{\n    "models": [\n        {\n            "id": "m",\n            "threads":3,\n            "draft": {"maxTokens":1}\n        }],\n  "x":   1 }\n',
  ],
]

test.each(places)('only what changes is written anew: %s', (name, before, settings, after) => {
  expect(withSettings(before, { id: 'm', isJson: name === 'JSON', settings })).toBe(after)
})

test.each([
  ['a value', 'models:\n  - id: m\n    threads: &few 2\n  - id: o\n    threads: *few\n', { threads: 3 }],
  [
    'a map',
    'models:\n  - id: m\n    draft: &d { source: d, maxTokens: 2 }\n  - id: o\n    draft: *d\n',
    { draft: { source: [], maxTokens: 3 } },
  ],
])('%s that another model uses is not changed for it', (_, before, settings) => {
  expect(() => withSettings(before, { ...change, settings })).toThrow("uses settings of the model 'm' elsewhere")
})

test('a model that the file does not have is not written', () => {
  expect(withSettings(text, { ...change, id: 'x', settings: {} })).toBeUndefined()
})

test('a file behind a link keeps its permissions, and the link', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-settings-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [file, link] = [join(folder, 'real.yaml'), join(folder, 'dragoman.yaml')]
  await writeFile(file, text, { mode: 0o600 })
  await symlink(file, link)
  await writeSettings(link, 'm', { threads: 3 })
  expect((await lstat(link)).isSymbolicLink()).toBe(true)
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600')
  expect(parse(await readFile(file, 'utf8')).models[1].threads).toBe(3)
  expect((await readdir(folder)).sort()).toEqual(['dragoman.yaml', 'real.yaml'])
})
