import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { rememberChoice } from '../../registry/names/repository-choice.ts'
import { landingPath, parseSource, type RemoteFileSource } from '../../registry/names/sources.ts'
import { list } from './list.ts'

afterEach(() => void vi.restoreAllMocks())

test.each([
  ['no model', [], 'MODEL  STATE  CONTEXT  ALIASES'],
  [
    'models with names of different widths and an unknown context length',
    [
      { id: 'a-long-name', state: 'ready', context_length: 8192, aliases: ['default', 'gpt-*'] },
      { id: 'b', state: 'stopped', aliases: [] },
      { id: 'of-another-server' },
    ],
    [
      'MODEL              STATE    CONTEXT  ALIASES',
      'a-long-name        ready    8192     default, gpt-*',
      'b                  stopped  -',
      'of-another-server  -        -',
    ].join('\n'),
  ],
])('the table of %s', async (_, data, table) => {
  const print = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  const { origin, close } = await listenOnLoopback((_request, response) => response.end(JSON.stringify({ data })))
  await list({ server: { url: origin }, isServerNamed: true, loadConfig: () => Promise.reject(new Error('not needed')) })
  await close()
  expect(print.mock.calls).toEqual([[table]])
})

test('a fetched file is listed by what other commands take: a short name where it means this file, else its source', async () => {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-list-'))
  onTestFinished(() => rm(home, { recursive: true }))
  const files = {
    chosen: 'hf:bartowski/Qwen_Qwen3-8B-GGUF/Qwen_Qwen3-8B-Q4_K_M.gguf',
    other: 'hf:bartowski/Qwen_Qwen3-8B-GGUF/Qwen_Qwen3-8B-Q8_0.gguf',
    unknown: 'hf:someone/tiny/tiny.gguf@v2',
  }
  for (const source of Object.values(files)) {
    const path = join(home, 'models', landingPath(parseSource(source) as RemoteFileSource))
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, '0123456789')
  }
  const repository = { type: 'hf-repository', owner: 'bartowski', repo: 'Qwen_Qwen3-8B-GGUF', revision: 'main' } as const
  await rememberChoice(repository, 'Qwen_Qwen3-8B-Q4_K_M.gguf', home)
  const print = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  const loadConfig = async () => ({ home }) as LoadedConfig
  await list({ server: { url: 'http://127.0.0.1:9' }, isServerNamed: false, loadConfig })
  const rows = String(print.mock.calls.at(-1)?.[0]).trim().split('\n')
  expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
    ['ON DISK', 'SIZE', 'SOURCE'],
    ['qwen3:8b', '10 B', files.chosen],
    [files.other, '10 B'],
    [files.unknown, '10 B'],
  ])
})
