import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { readLlamaTemplates } from '../../support/llama/llama-templates.ts'

type Scored = { readonly token: string; readonly bytes: readonly number[]; readonly logprob: number }
type Part = { readonly content?: string | null; readonly reasoning_content?: string }
type Choice = {
  readonly message?: Part
  readonly delta?: Part
  readonly logprobs?: { readonly content: readonly Scored[] } | null
  readonly finish_reason: string | null
}
type Usage = { readonly prompt_tokens: number; readonly completion_tokens: number }
type Reply = { readonly choices: readonly Choice[]; readonly usage?: Usage | null }

const templates = [undefined, 'Qwen-Qwen3-0.6B.jinja', 'openai-gpt-oss-120b.jinja', 'meta-llama-Llama-3.1-8B-Instruct.jinja']

describe.skipIf(llamaServerBinary === undefined || readLlamaTemplates() === undefined)(
  `log-probabilities of chats${llamaServerHint}`,
  () => {
    let folder: string
    let app: RunningApp
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'dragoman-logprobs-'))
      const models = templates.map(async (name, index) => {
        const chatTemplate = join(folder, `${index}.jinja`)
        if (name !== undefined) await writeFile(chatTemplate, readLlamaTemplates()?.get(name) ?? '')
        const tiny = { source: 'builtin:dragoman-tiny.gguf', contextLength: 4096, threads: 1, slots: 1 }
        const options = { ...tiny, ...(name !== undefined && { chatTemplate }) }
        return [
          { id: `embedded-${index}`, engine: 'llama', ...options },
          { id: `managed-${index}`, engine: 'llama-server', binary: llamaServerBinary, ...options },
        ]
      })
      app = await startApp({ models: (await Promise.all(models)).flat() as never })
    })
    afterAll(async () => {
      await app?.close()
      await rm(folder, { recursive: true, force: true })
    })

    async function send(body: object) {
      const messages = [{ role: 'user', content: 'Describe the sea, its waves and its colours in a few sentences.' }]
      const reply = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ messages, temperature: 0, ...body }),
      })
      const said = await reply.text()
      expect(reply.status, said).toBe(200)
      const lines = said.startsWith('{') ? [said] : said.split('\n').flatMap((line) => line.match(/^data: (\{.*)/)?.[1] ?? [])
      const replies = lines.map((line) => JSON.parse(line) as Reply)
      const choices = replies.flatMap((one) => one.choices)
      const parts = choices.map(({ message, delta }) => message ?? delta)
      return {
        tokens: choices.flatMap(({ logprobs }) => logprobs?.content ?? []),
        text: parts.map((part) => `${part?.reasoning_content ?? ''}${part?.content ?? ''}`).join(''),
        finish: choices.at(-1)?.finish_reason,
        usage: replies.flatMap(({ usage }) => usage ?? []).at(-1),
      }
    }

    const limits = [10, 60]
    const cases = templates.flatMap((template, index) =>
      [false, true].flatMap((stream) => limits.map((limit) => ({ template, stream, limit, index }))),
    )
    test.each(cases)(
      'llama-server has those of the embedded engine, one for each token: $template, stream $stream, $limit',
      async ({ index, stream, limit }) => {
        const body = { max_tokens: limit, stream, ...(stream && { stream_options: { include_usage: true } }) }
        const scored = { ...body, logprobs: true, top_logprobs: 1 }
        const [embedded, managed, plain] = await Promise.all([
          send({ model: `embedded-${index}`, ...scored }),
          send({ model: `managed-${index}`, ...scored }),
          send({ model: `managed-${index}`, ...body }),
        ])
        for (const { tokens, text, usage, finish } of [embedded, managed]) {
          expect(Buffer.from(tokens.flatMap(({ bytes }) => bytes)).toString()).toBe(text)
          if (finish === 'length') expect(tokens).toHaveLength(usage?.completion_tokens ?? 0)
        }
        expect(managed.text).toBe(embedded.text)
        expect(managed.tokens.map(({ token }) => token)).toEqual(embedded.tokens.map(({ token }) => token))
        for (const [place, { logprob }] of managed.tokens.entries()) {
          expect(logprob).toBeCloseTo(embedded.tokens[place]?.logprob ?? 1, 0)
        }
        // It is the prompt of all other requests.
        expect(managed.usage?.prompt_tokens).toBe(plain.usage?.prompt_tokens)
        expect(managed.text).toBe(plain.text)
      },
    )
  },
)
