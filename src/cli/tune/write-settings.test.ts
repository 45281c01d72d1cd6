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
