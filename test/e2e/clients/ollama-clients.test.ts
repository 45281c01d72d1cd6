import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ollama } from 'ollama'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPods, type RunningApp, startApp } from '../../support/http/app.ts'
import { scriptedAnswers, scriptedTemplate } from '../../support/http/client-script.ts'
import { png } from '../../support/pictures.ts'
import { openHub } from '../../support/upstream/hub.ts'

let app: RunningApp
let folder: string
let ollama: Ollama
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-ollama-'))
  const script = join(folder, 'script.json')
  await writeFile(script, JSON.stringify(scriptedAnswers))
  app = await startApp({
    models: [
      { id: 'scripted', engine: 'fake', script, chatTemplate: scriptedTemplate },
      { id: 'tiny', engine: 'llama', source: 'builtin:dragoman-tiny.gguf', load: 'demand' },
    ],
  })
  ollama = new Ollama({ host: app.url })
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

const says = (content: string) => ({ model: 'scripted', messages: [{ role: 'user', content }] })
const parameters = { type: 'object', required: ['city'], properties: { city: { type: 'string' } } }
const tools = [{ type: 'function', function: { name: 'weather', description: 'The weather of a city.', parameters } }]

describe('ollama (npm)', () => {
  test('a chat, whole and streamed, with its counts', async () => {
    const reply = await ollama.chat(says('hi'))
    expect(reply).toMatchObject({ model: 'scripted', message: { content: 'Good morning.' }, done_reason: 'stop', eval_count: 2 })
    expect(reply.eval_duration).toBeGreaterThan(0)
    let text = ''
    let last: unknown
    for await (const part of await ollama.chat({ ...says('hi'), stream: true })) {
      text += part.message.content
      last = part
    }
    expect([text, last]).toEqual([
      'Good morning.',
      expect.objectContaining({ done: true, prompt_eval_count: expect.any(Number) }),
    ])
  })

  test('thinking is apart from the text', async () => {
    const { message } = await ollama.chat({ ...says('think'), think: true })
    expect(message).toMatchObject({ thinking: 'Two words.', content: 'Good morning.' })
    const parts: [string | undefined, string][] = []
    for await (const { message: one } of await ollama.chat({ ...says('think'), think: 'low', stream: true })) {
      parts.push([one.thinking, one.content])
    }
    expect(parts.map(([thinking = '']) => thinking).join('')).toBe('Two words.')
    expect(parts.map(([, content]) => content).join('')).toBe('Good morning.')
  })

  test.each([true, false])('a loop of calls, streamed: %s', async (stream) => {
    const messages: object[] = [{ role: 'user', content: 'How is the weather in Oslo?' }]
    const ask = async () => {
      const request = { model: 'scripted', messages: messages as never, tools }
      if (!stream) return (await ollama.chat(request)).message
      let content = ''
      const calls = []
      for await (const { message } of await ollama.chat({ ...request, stream: true })) {
        content += message.content
        calls.push(...(message.tool_calls ?? []))
      }
      return { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) }
    }
    const called = await ask()
    const [call] = called.tool_calls ?? []
    expect(call?.function).toMatchObject({ name: 'weather', arguments: { city: 'Oslo' } })
    messages.push(called, { role: 'tool', tool_name: 'weather', content: '21 degrees' })
    expect((await ask()).content).toBe('It has 21 degrees.')
  })

  test('a constrained answer, and one with options and log-probabilities', async () => {
    const format = {
      type: 'object',
      properties: { sunny: { type: 'boolean' } },
      required: ['sunny'],
      additionalProperties: false,
    }
    const { message } = await ollama.chat({ model: 'tiny', messages: says('Is it sunny?').messages, format })
    expect(JSON.parse(message.content)).toEqual({ sunny: expect.any(Boolean) })
    const options = { num_ctx: 8192, temperature: 0, num_predict: 4, seed: 1, top_k: 40, repeat_penalty: 1.1, stop: ['\n\n'] }
    const reply = await ollama.generate({
      model: 'tiny',
      prompt: 'Tell me of the sea.',
      options,
      logprobs: true,
      top_logprobs: 2,
    })
    expect(reply).toMatchObject({ eval_count: 4, done_reason: 'length' })
    expect(reply.logprobs?.[0]).toMatchObject({ token: expect.any(String), top_logprobs: [{}, {}] })
  })

  test('a raw prompt is what its control tokens say', async () => {
    const prompt = '<|im_start|>user\nSay hello.<|im_end|>\n<|im_start|>assistant\n'
    const raw = await ollama.generate({ model: 'tiny', prompt, raw: true, options: { temperature: 0, num_predict: 60 } })
    expect(raw).toMatchObject({ done_reason: 'stop' })
    expect(raw.response).not.toContain('<|im_end|>')
  })

  test('a picture, and vectors', async () => {
    const messages = [{ role: 'user', content: 'hi', images: [new Uint8Array(png([255, 0, 0]))] }]
    expect((await ollama.chat({ model: 'scripted', messages })).message.content).toBe('Good morning.')
    expect((await ollama.embed({ model: 'tiny', input: ['a', 'b'] })).embeddings.map(({ length }) => length)).toEqual([256, 256])
    expect((await ollama.embeddings({ model: 'scripted', prompt: 'a' })).embedding).toHaveLength(64)
  })

  test('loading and unloading, with what is loaded between', async () => {
    const names = async () => (await ollama.ps()).models.map(({ name }) => name)
    expect(await ollama.generate({ model: 'tiny', prompt: '', keep_alive: '1h' })).toMatchObject({ done_reason: 'load' })
    expect(await names()).toContain('tiny:latest')
    const tiny = (await ollama.ps()).models.find(({ name }) => name === 'tiny:latest')
    expect(new Date(tiny?.expires_at ?? 0).getTime() - Date.now()).toBeGreaterThan(3_500_000)
    expect(await ollama.generate({ model: 'tiny', prompt: '', keep_alive: 0 })).toMatchObject({ done_reason: 'unload' })
    await expect.poll(names).not.toContain('tiny:latest')
  })

  test('what there is', async () => {
    expect((await ollama.list()).models.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['scripted:latest', 'tiny:latest']),
    )
    const shown = await ollama.show({ model: 'tiny' })
    expect(shown.capabilities).toEqual(['completion', 'tools', 'vision', 'thinking'])
    expect(await ollama.version()).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
  })

  test('failures are errors with the words of the server, before a stream and in it', async () => {
    await expect(ollama.chat({ ...says('hi'), model: 'nonesuch' })).rejects.toThrow(/model 'nonesuch' not found/)
    await expect(ollama.chat({ ...says('hi'), options: { penalty_alpha: 0.5 } as never })).rejects.toThrow(
      /options\.penalty_alpha/,
    )
    await expect(ollama.push({ model: 'scripted' })).rejects.toThrow('Dragoman cannot push models')
    await expect(ollama.copy({ source: 'scripted', destination: 'x' })).rejects.toThrow(/alias/)
    await expect(ollama.create({ model: 'x', from: 'scripted' })).rejects.toThrow(/Modelfile/)
    await expect(ollama.delete({ model: 'scripted' })).rejects.toThrow(/no request has added scripted/)
    const broken = async () => {
      for await (const _ of await ollama.chat({ ...says('breaks'), stream: true }));
    }
    await expect(broken()).rejects.toThrow()
  })

  test('a client that leaves ends its generation', async () => {
    const client = new Ollama({ host: app.url })
    const parts = await client.chat({
      model: 'tiny',
      messages: says('Tell me.').messages,
      options: { num_predict: 3000 },
      stream: true,
    })
    for await (const _ of parts) break
    client.abort()
    await expect.poll(() => app.metric('dragoman_slots_busy{model="tiny"}')).toBe(0)
    // It has not come to its end by itself. The metric is there with the first client that leaves.
    await expect.poll(() => app.metric('dragoman_cancellations_total{reason="client-gone"}')).toBe(1)
  })

  test.skipIf(hasPods)('a pull shows its progress, and the model answers to the name that was pulled', async () => {
    const hub = await openHub()
    const model = 'hf.co/owner/small:Q8_0'
    const lines: { status: string; total?: number; completed?: number }[] = []
    for await (const line of await ollama.pull({ model, stream: true })) lines.push(line)
    expect(lines[0]).toEqual({ status: 'pulling manifest' })
    expect(lines.at(-1)).toEqual({ status: 'success' })
    expect(lines.filter(({ total }) => total !== undefined).at(-1)).toMatchObject({
      total: hub.sizeBytes,
      completed: hub.sizeBytes,
    })
    const messages = says('Say hello.').messages
    const reply = await ollama.chat({ model, messages, options: { num_predict: 5 } })
    expect(reply).toMatchObject({ model, message: { content: expect.any(String) } })
    expect(await ollama.pull({ model })).toEqual({ status: 'success' })
    expect(await ollama.delete({ model })).toMatchObject({ status: 'success' })
    expect((await ollama.list()).models.map(({ name }) => name)).not.toContain('owner/small:latest')
    await expect(ollama.pull({ model: 'hf.co/owner/small:Q1_0' })).rejects.toThrow(/Q1_0/)
  })
})
