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
