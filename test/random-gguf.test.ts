import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chatMl, writeRandomModel } from './support/llama/random-gguf.ts'
import type { ModelReport } from './support/llama/random-gguf-child.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-random-gguf-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function contentHash(...args: Parameters<typeof writeRandomModel>): Promise<string> {
  await writeRandomModel(...args)
  return createHash('sha256')
    .update(await readFile(args[0]))
    .digest('hex')
}

describe('the file of a random model', () => {
  test('the bytes depend on the options alone', async () => {
    const first = await contentHash(join(folder, 'first.gguf'))
    expect(await contentHash(join(folder, 'second.gguf'))).toBe(first)
    expect(await contentHash(join(folder, 'third.gguf'), { seed: 2 })).not.toBe(first)
    expect(await contentHash(join(folder, 'fourth.gguf'), { contextLength: 512 })).not.toBe(first)
  })

  test('the bytes are the same on every machine', async () => {
    expect(await contentHash(join(folder, 'pinned.gguf'))).toBe(
      'ce37bc5e9ad16ca6e5db201c78a2c7b806897574b388565508e77ecf80d68fc9',
    )
  })

  test('the file appears whole, replaces an older one, and nothing else stays', async () => {
    const path = join(folder, 'nested', 'model.gguf')
    await Promise.all([writeRandomModel(path), writeRandomModel(path)])
    await writeRandomModel(path, { seed: 3 })
    expect(await readdir(join(folder, 'nested'))).toEqual(['model.gguf'])
  })

  test('the file is small and its tensors are aligned', async () => {
    const path = join(folder, 'small.gguf')
    await writeRandomModel(path)
    const bytes = await readFile(path)
    expect(bytes.subarray(0, 4).toString()).toBe('GGUF')
    expect(bytes.length).toBeLessThan(3_000_000)
    expect(bytes.length % 32).toBe(0)
  })
})

describe('a random model in llama.cpp', () => {
  const sentence = 'Hello, what is the weather in the city today?'
  const texts = {
    sentence,
    emoji: '🙂',
    mixed: 'café 日本語 “quoted” 👩‍👩‍👧 1234\n\n\tend ',
    chat: '<|im_start|>user\nhello<|im_end|>\n',
    think: '<think>',
    toolCall: '</tool_call>',
  }
  let report: ModelReport
  beforeAll(async () => {
    const path = join(folder, 'loaded.gguf')
    await writeRandomModel(path, { contextLength: 2048 })
    report = await tryModel(path, Object.values(texts))
  })

  const tokensOf = (text: string) => report.roundTrips.find((trip) => trip.text === text)?.tokens ?? []

  test('it loads with its context length and chat template', () => {
    expect(report).toMatchObject({ trainContextSize: 2048, chatTemplate: chatMl, endToken: 2 })
  })

  test('every text comes back from its tokens', () => {
    for (const { text, back } of report.roundTrips) expect(back).toBe(text)
  })

  test('ordinary words take fewer tokens than bytes, and an emoji one for each byte', () => {
    expect(tokensOf(texts.sentence).length).toBeLessThan(sentence.length / 2)
    expect(tokensOf(texts.emoji)).toHaveLength(4)
  })

  test('special tokens are one token each', () => {
    expect(tokensOf(texts.chat)[0]).toBe(1)
    expect(tokensOf(texts.chat)).toContain(2)
    expect(tokensOf(texts.think)).toHaveLength(1)
    expect(tokensOf(texts.toolCall)).toHaveLength(1)
  })

  test('equal seeds give equal tokens', () => {
    expect(report.generated[0]).toHaveLength(32)
    expect(report.generated[1]).toEqual(report.generated[0])
  })

  test('greedy decoding does not repeat itself', () => {
    expect(report.greedy).toHaveLength(32)
    expect(new Set(report.greedy).size).toBeGreaterThan(16)
  })
})

/** In a child process: a crash of the native code must not take the test runner down. */
function tryModel(modelPath: string, texts: readonly string[]): Promise<ModelReport> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL('./support/llama/random-gguf-child.ts', import.meta.url), [modelPath, ...texts], {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let errors = ''
    child.stderr?.on('data', (chunk) => {
      errors += chunk
    })
    child.once('error', reject)
    child.once('message', (message) => resolve(message as ModelReport))
    child.once('close', (code, signal) => reject(new Error(`the child ended without a report (${signal ?? code}): ${errors}`)))
  })
}
