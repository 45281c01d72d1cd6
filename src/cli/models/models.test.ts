import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { copyFile, mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import { loadConfig } from '../../config/load.ts'
import { builtinModel } from '../../registry/names/builtin-model.ts'
import { rememberChoice } from '../../registry/names/repository-choice.ts'
import { landingPath, parseSource, type RemoteFileSource, type RepositorySource } from '../../registry/names/sources.ts'
import { list } from './list.ts'
import { removeModel } from './rm.ts'
import { search } from './search.ts'
import { showModel } from './show.ts'

let home: string
let lines: string[]
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'dragoman-models-'))
  lines = []
  vi.spyOn(console, 'log').mockImplementation((line) => void lines.push(String(line)))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true })
})
const load = (models: readonly string[] = []) =>
  loadConfig({ flags: { models }, env: { DRAGOMAN_HOME: home }, cwd: home, userHome: home })
const printed = () => lines.join('\n')

/** The tiny model, as if it had been fetched for a short name. */
async function fetched(shortName: string): Promise<string> {
  const repository = parseSource(shortName) as RepositorySource
  const source = { ...repository, type: 'hf', file: 'm-Q8_0.gguf' } as RemoteFileSource
  const path = join(home, 'models', landingPath(source))
  await mkdir(dirname(path), { recursive: true })
  await copyFile(builtinModel.path, path)
  await rememberChoice(repository, 'm-Q8_0.gguf', home)
  return path
}

describe('models on this disk', () => {
  const server = { url: 'http://127.0.0.1:9' }

  test('models on this disk are listed by their short names and sources, without a server', async () => {
    await fetched('qwen3:8b')
    await list({ server, isServerNamed: false, loadConfig: () => load() })
    expect(printed()).toMatch(
      /^no server runs at http:\/\/127\.0\.0\.1:9\n\nON DISK {3}SIZE {4}SOURCE\nqwen3:8b {2}[\d.]+ MB {2}hf:bartowski\/Qwen_Qwen3-8B-GGUF\/m-Q8_0\.gguf$/,
    )
  })

  test('models on this disk are not what a server has that the user named', async () => {
    await expect(list({ server, isServerNamed: true, loadConfig: () => load() })).rejects.toThrow('cannot be reached')
  })

  test('without a file here are shown as the running server has them, and `rm` names what removes them there', async () => {
    const served = openTestServer()
    onTestFinished(() => served.app.close())
    const asked = { url: `http://127.0.0.1:${await served.listen()}` }
    await showModel('org/fake', { template: false, server: asked, loadConfig: load })
    expect(printed()).toMatch(/^model +org\/fake\n/)
    expect(printed()).toContain(asked.url)
    expect(printed()).toMatch(/^state +stopped$/m)
    expect(printed()).toMatch(/^requests +0 of \d+ run, 0 wait$/m)
    await expect(removeModel('org/fake', { server: asked, loadConfig: load })).rejects.toThrow(
      /unload org\/fake` frees its memory/,
    )
    await expect(showModel('org/other', { template: false, server: asked, loadConfig: load })).rejects.toThrow(/org\/other/)
    await expect(showModel('org/fake', { template: true, server: asked, loadConfig: load })).rejects.toThrow(/org\/fake/)
  })

  test('models on this disk are shown with what their files say and what they need', async () => {
    const path = await fetched('qwen3:8b')
    await showModel('qwen3:8b', { template: false, server, loadConfig: load })
    for (const line of [
      /^source +hf:bartowski\/Qwen_Qwen3-8B-GGUF$/m,
      /^parameters +\d+\.\d million$/m,
      /^trained for +4096 tokens$/m,
      /^context +4096 tokens, all that the model was trained for$/m,
      /^memory +about [\d.]+ MB with slots: 4, of [\d.]+ GB here$/m,
      /^chat template +\d+ characters; --template prints it$/m,
    ]) {
      expect(printed()).toMatch(line)
    }
    expect(printed()).toContain(path)
  })

  test('models on this disk have a template that can be printed alone', async () => {
    await showModel('dragoman-tiny', { template: true, server, loadConfig: load })
    expect(lines).toHaveLength(1)
    expect(printed()).toContain('{%')
  })

  test('models on this disk are deleted by their short names', async () => {
    const path = await fetched('qwen3:8b')
    await removeModel('qwen3:8b', { server, loadConfig: load })
    expect(printed()).toMatch(/^removed qwen3:8b: [\d.]+ MB are free$/)
    expect(existsSync(path)).toBe(false)
    await expect(removeModel('qwen3:8b', { server, loadConfig: load })).rejects.toThrow(
      'nothing of hf:bartowski/Qwen_Qwen3-8B-GGUF is in',
    )
    await expect(showModel('qwen3:8b', { template: false, server, loadConfig: load })).rejects.toThrow(
      'hf:bartowski/Qwen_Qwen3-8B-GGUF is not on this disk; `dragoman pull qwen3:8b` fetches it',
    )
    await expect(showModel('/none/of.gguf', { template: false, server, loadConfig: load })).rejects.toThrow(
      '/none/of.gguf: there is no such file',
    )
  })

  test('models on this disk stay where they are files of Dragoman itself or of the user', async () => {
    await expect(removeModel('dragoman-tiny', { server, loadConfig: load })).rejects.toThrow('is a file of your own')
    expect(existsSync(builtinModel.path)).toBe(true)
  })

  test('models on this disk are named with what is near, where there is none', async () => {
    await expect(showModel('dragoman-tyny', { template: false, server, loadConfig: load })).rejects.toThrow(
      "did you mean 'dragoman-tiny'?",
    )
  })
})

describe('a search', () => {
  test('without a text lists the short names, and proposes what this machine runs', async () => {
    await search('', { cores: 4, memoryBytes: 8e9, gpuBytes: 0 })
    expect(printed()).toMatch(/^qwen3:4b \* +Qwen3 4B +2\.5 GB +40960 +yes +thinking, tools$/m)
    expect(printed()).toMatch(/^llama3\.3:70b +Llama 3\.3 70B +42\.5 GB +131072 +no +tools$/m)
    expect(printed()).toContain('This machine has 4 cores, 8.0 GB of memory and no GPU; * is proposed for it.')
  })

  test('a search with a text also asks Hugging Face', async () => {
    const { origin, close } = await listenOnLoopback((_, response) => response.end('[{"id":"o/r","downloads":23456,"likes":7}]'))
    onTestFinished(close)
    vi.stubEnv('HF_ENDPOINT', origin)
    await search('Coder qwen3', { cores: 4, memoryBytes: 8e9 })
    expect(printed()).toMatch(/^qwen3-coder:30b/m)
    expect(printed()).not.toMatch(/^qwen3:8b/m)
    expect(printed()).toMatch(/^This machine has 4 cores, 8\.0 GB of memory and no GPU\. dragoman run NAME fetches one/m)
    expect(printed()).toMatch(/^hf:o\/r +23k +7$/m)
  })

  test('without a network shows what is known, and fails', async () => {
    vi.stubEnv('HF_ENDPOINT', 'http://127.0.0.1:9')
    await expect(search('qwen3:8b', { cores: 4, memoryBytes: 8e9 })).rejects.toThrow('cannot be reached')
    expect(printed()).toMatch(/^qwen3:8b/m)
  })
})
