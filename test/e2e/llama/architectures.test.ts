import { readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLlamaServer } from '../../../bench/llama-server.ts'
import type { BenchProcess } from '../../../bench/processes.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { encodeSmallModel, type SmallArchitecture } from '../../support/llama/random-architectures.ts'

/** Plain attention, windows, experts, latent attention, states, both. */
const small: readonly SmallArchitecture[] = ['llama', 'gemma2', 'qwen3moe', 'deepseek2', 'mamba', 'lfm2']
const largestBytes = 200_000
/** `npm run architectures` makes files of forty architectures, and says where they are. */
const folderOfAll = process.env.ARCHITECTURES
/** Of llama.cpp's random models, those that it does not load itself with several slots. */
const refused = /^(?:falcon-h1|granitehybrid|nemotron_h|phi3|qwen35|qwen35moe|qwen3next)-/
/** llama-server needs a batch that divides into its slots. */
const refusedThere = /^kimi-linear-/
const models = folderOfAll === undefined ? small : readdirSync(folderOfAll).map((file) => file.replace('.gguf', ''))

/** Tokens of a prompt that were computed before: of a next turn, and of another conversation with the same system message. */
type Reused = { readonly turn: number; readonly beginning: number }

const slots = 3
const contextLength = 2048
const greedy = { max_tokens: 24, temperature: 0, ignore_eos: true }
const prompts = ['once upon a time the sea', 'when', `${words(3, 90)}.`]

type Reply = {
  readonly choices: readonly { readonly text?: string; readonly message?: { readonly content: string } }[]
  readonly usage: { readonly prompt_tokens_details?: { readonly cached_tokens: number } }
}

const name = `%s, on the embedded engine and on llama-server${llamaServerHint}`
const isSkipped = llamaServerBinary === undefined
describe.skipIf(isSkipped).each(models.filter((model) => !refused.test(model) && !refusedThere.test(model)))(name, (model) => {
  let folder: string
  let app: RunningApp
  let server: BenchProcess
  const servers = () => [app.url, server.url]
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-architectures-'))
    const modelPath = join(folderOfAll ?? folder, `${model}.gguf`)
    if (folderOfAll === undefined) {
      const bytes = encodeSmallModel(model as SmallArchitecture, { width: 32, window: 64 })
      expect(bytes.length).toBeLessThan(largestBytes)
      await writeFile(modelPath, bytes)
    }
    app = await startEmbedded(modelPath)
    server = await startServer(modelPath)
  })
  afterAll(async () => {
    server?.stop()
    await app?.close()
    await rm(folder, { recursive: true })
  })

  async function send(url: string, path: string, body: object, signal?: AbortSignal): Promise<Response> {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify({ model, ...greedy, ...body }) }
    const reply = await fetch(url + path, { ...request, ...(signal !== undefined && { signal }) })
    if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`)
    return reply
  }
  const post = async (url: string, path: string, body: object) => (await (await send(url, path, body)).json()) as Reply
  const complete = async (url: string, body: object): Promise<string[]> =>
    (await post(url, '/v1/completions', body)).choices.map(({ text = '' }) => withoutPart(text))
  const textsAlone = async (url: string) => {
    const texts: string[][] = []
    for (const prompt of prompts) texts.push(await complete(url, { prompt }))
    return texts
  }

  test('greedy texts are equal', async () => {
    const [ours, theirs] = [await textsAlone(app.url), await textsAlone(server.url)]
    expect(ours).toEqual(theirs)
    expect(new Set(ours.flat()).size).toBe(prompts.length)
  })

  test('two choices are what one is', async () => {
    const [text = ''] = await complete(server.url, { prompt: prompts[0] })
    expect(await complete(app.url, { prompt: prompts[0], n: 2 })).toEqual([text, text])
  })

  test('three at once are what each is alone', async () => {
    const together = await Promise.all(prompts.map((prompt) => complete(app.url, { prompt })))
    expect(together).toEqual(await textsAlone(server.url))
  })

  test('texts that a schema limits are equal', async () => {
    const json_schema = { type: 'string', pattern: '^[a-z]{12}( [a-z]{5}){3}$' }
    const ask = async (url: string) => {
      const body = { prompt: prompts[0], json_schema, max_tokens: 60, ignore_eos: false }
      return (await (await send(url, '/completion', body)).json()) as { content: string }
    }
    const [ours, theirs] = await Promise.all(servers().map(ask))
    expect(ours?.content).toMatch(/^"[a-z]{12}( [a-z]{5}){3}"$/)
    expect(ours?.content).toBe(theirs?.content)
  })

  test('a hang-up leaves nothing behind in what follows', async () => {
    const gone = new AbortController()
    const stream = await send(app.url, '/v1/completions', { prompt: prompts[2], max_tokens: 1500, stream: true }, gone.signal)
    await stream.body?.getReader().read()
    gone.abort()
    expect(await textsAlone(app.url)).toEqual(await textsAlone(server.url))
  })

  test('of a next turn, and of a prompt with the same beginning, as much is reused, and the answers are equal', async () => {
    const [ours, theirs] = await Promise.all(servers().map((url) => converse((body) => post(url, '/v1/chat/completions', body))))
    expect(ours?.texts).toEqual(theirs?.texts)
    for (const what of ['turn', 'beginning'] as const)
      expect(ours?.reused[what], what).toBeGreaterThanOrEqual(0.9 * (theirs?.reused[what] ?? 0))
  })
})

test.skipIf(isSkipped).each(models.filter((model) => refused.test(model)))('%s is loaded by neither', async (model) => {
  const modelPath = join(folderOfAll ?? '', `${model}.gguf`)
  await expect(startServer(modelPath)).rejects.toThrow()
  await expect(startEmbedded(modelPath)).rejects.toThrow('could not be loaded')
})

test.skipIf(isSkipped).each(models.filter((model) => refusedThere.test(model)))('%s is loaded here alone', async (model) => {
  const modelPath = join(folderOfAll ?? '', `${model}.gguf`)
  await expect(startServer(modelPath)).rejects.toThrow()
  await (await startEmbedded(modelPath)).close()
})

function startEmbedded(modelPath: string): Promise<RunningApp> {
  const id = basename(modelPath, '.gguf')
  return startApp({ models: [{ id, engine: 'llama', source: modelPath, contextLength, slots, threads: 1 }] as never })
}

function startServer(modelPath: string): Promise<BenchProcess> {
  return startLlamaServer({ program: llamaServerBinary ?? '', modelPath, slots, contextLength })
}

async function converse(chat: (body: object) => Promise<Reply>): Promise<{ reused: Reused; texts: string[] }> {
  const texts: string[] = []
  const ask = async (...messages: object[]) => {
    const { choices, usage } = await chat({ messages })
    texts.push(withoutPart(choices[0]?.message?.content ?? ''))
    return usage.prompt_tokens_details?.cached_tokens ?? Number.NaN
  }
  const system = { role: 'system', content: words(7, 400) }
  const user = (content: string) => ({ role: 'user', content })
  await ask(system, user('hello there'))
  const turn = await ask(system, user('hello there'), { role: 'assistant', content: texts[0] }, user('and now more'))
  const beginning = await ask(system, user('something else'))
  // Windows have moved on since the place where this one differs.
  await ask({ ...system, content: words(7, 200) }, user('something else'))
  return { reused: { turn, beginning }, texts }
}

/** llama-server ends a text with a replacement for a character that is not complete. */
function withoutPart(text: string): string {
  return text.replace(/\uFFFD+$/, '')
}

function words(step: number, count: number): string {
  return Array.from(
    { length: count },
    (_, index) => ['the', 'sea', 'tree', 'moon', 'rain'][(index * index + step * index) % 5],
  ).join(' ')
}
