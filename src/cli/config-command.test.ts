import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { loadConfig } from '../config/load.ts'
import { describeConfig, writeFirstConfig } from './config-command.ts'

let folder: string
let lines: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-config-'))
  lines = []
  const spy = vi.spyOn(console, 'log').mockImplementation((line) => void lines.push(String(line)))
  onTestFinished(() => {
    spy.mockRestore()
    rmSync(folder, { recursive: true })
  })
})
const load = (config: string) => () => loadConfig({ flags: { config }, env: {}, cwd: folder, userHome: folder })

test('the first configuration is valid, names its schema, and is never written over a file', async () => {
  const file = join(folder, 'dragoman.yaml')
  await writeFirstConfig(file, folder)
  const text = readFileSync(file, 'utf8')
  const [, schema = ''] = /^# yaml-language-server: \$schema=(.+)\n/.exec(text) ?? []
  expect(JSON.parse(readFileSync(schema, 'utf8')).$id).toBe('urn:dragoman:configuration')
  await describeConfig({ check: true }, load(file))
  expect(lines.at(-1)).toMatch(/^the configuration is valid; models: \S+, dragoman-tiny$/)
  await expect(writeFirstConfig(file, folder)).rejects.toThrow('is not written: there is such a file already')
  expect(readFileSync(file, 'utf8')).toBe(text)
})

test('a check names what this machine lacks', async () => {
  const file = join(folder, 'elsewhere.yaml')
  writeFileSync(
    file,
    `server: { host: 192.0.2.1 }
builtinModel: false
modelsFolder: ./shelf
models:
  - { id: gone, source: ./gone.gguf }
  - { id: fetched, source: [./gone.gguf, 'hf:a/b'] }
  - { id: scripted, script: ./gone.yaml, chatTemplate: ./gone.jinja }
  - { id: far, endpoints: [{ url: 'http://127.0.0.1:9/v1', apiKeyEnv: DRAGOMAN_TEST_NOT_SET }] }
  - { id: here, script: from-request }
`,
  )
  const notes: string[] = []
  const spy = vi.spyOn(console, 'error').mockImplementation((line) => void notes.push(...String(line).split('\n')))
  onTestFinished(() => spy.mockRestore())
  await describeConfig({ check: true }, load(file))
  expect(lines.at(-1)).toMatch(/^the configuration is valid; models: gone, fetched, scripted, far, here$/)
  expect(notes).toEqual([
    'this machine lacks what it names:',
    '  192.0.2.1 is not an address of this machine; choose another with server.host or --host',
    `  modelsFolder: there is no '${join(folder, 'shelf')}'`,
    `  model 'gone': source: there is no '${join(folder, 'gone.gguf')}'`,
    `  model 'scripted': chatTemplate: there is no '${join(folder, 'gone.jinja')}'`,
    `  model 'scripted': script: there is no '${join(folder, 'gone.yaml')}'`,
    "  model 'far': the environment variable DRAGOMAN_TEST_NOT_SET is not set",
  ])
})

test('a host that cannot be an address is wrong everywhere', async () => {
  const file = join(folder, 'wrong.yaml')
  writeFileSync(file, 'server: { host: 300.1.1.1 }\n')
  await expect(describeConfig({ check: true }, load(file))).rejects.toThrow('server.host: must be a host name or an IP address')
})

test('a check names what is wrong, with its line', async () => {
  const file = join(folder, 'wrong.yaml')
  writeFileSync(file, 'server:\n  prot: 1\n')
  await expect(describeConfig({ check: true }, load(file))).rejects.toThrow(
    `${file}:2: server.prot: unknown key 'prot'; did you mean 'port'?`,
  )
})

test('without a flag it says what there is', async () => {
  await expect(describeConfig({}, load('none'))).rejects.toThrow('name what to do: --check, --print or --schema')
})
