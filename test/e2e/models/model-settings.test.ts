import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainChat } from '../../../src/contract/request.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, complete } from '../../engine-contract.ts'
import { runOf } from '../../support/http/iterate.ts'
import { capability } from '../../support/llama/capability.ts'
import type { GgufValue } from '../../support/llama/gguf-writer.ts'
import { writeRandomModel } from '../../support/llama/random-gguf.ts'

const never = new AbortController().signal
const logged: { facts: object; message: string }[] = []
const log = {
  debug: () => undefined,
  info: (facts: object, message: string) => void logged.push({ facts, message }),
  warn: (facts: object, message: string) => void logged.push({ facts, message }),
}

const fileSampling = new Map<string, GgufValue>([
  ['general.sampling.temp', { type: 'float32', value: 0 }],
  ['general.sampling.top_k', { type: 'uint32', value: 7 }],
  ['general.sampling.top_p', { type: 'float32', value: 0.6 }],
  ['general.sampling.penalty_repeat', { type: 'float32', value: 1.5 }],
  ['general.sampling.penalty_last_n', { type: 'uint32', value: 5 }],
  ['general.sampling.mirostat', { type: 'uint32', value: 3 }],
])
const loud = "{% for m in messages %}LOUD {{ m['content'] | upper }}{% endfor %}"

let folder: string
let engine: LlamaEngine
const prompt = () => {
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }]
  return capability(engine, 'tokenizer').render({ prompt: { type: 'chat', ...plainChat, messages }, reasoning: {} }, never)
}
const workers = () => logged.filter(({ message }) => message === 'model is ready')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-settings-'))
  const modelPath = join(folder, 'model.gguf')
  await writeRandomModel(modelPath, { moreMetadata: fileSampling })
  const options = { modelPath, slots: 2, contextLength: 512, threads: 1, flashAttention: true }
  engine = new LlamaEngine({ id: 'shaped', locate: async () => options, log, sampling: { topK: 9 } })
  await engine.ensureReady(never)
})
afterAll(async () => {
  await engine.close()
  await rm(folder, { recursive: true, force: true })
})

describe('engine llama: defaults of the model', () => {
  test('are those of its file, overridden by the configuration; unsupported ones are reported', () => {
    expect(engine.facts.sampling).toMatchObject({
      temperature: 0,
      topK: 9,
      topP: 0.6,
      minP: 0.05,
      repetitionPenalty: 1.5,
      repetitionRange: 5,
    })
    expect(logged.map(({ message }) => message).join('\n')).toContain('mirostat is 3')
  })

  test('hold for a request that says nothing', async () => {
    const write = async (sampling: object) =>
      (await complete(engine, chatRequest('Once upon a time', { sampling, maxOutputTokens: 40 }))).text
    const unsaid = await write({})
    // Greedy, so the same each time; and the same as with the penalty of the file, which changes what is written.
    expect(await write({})).toBe(unsaid)
    expect(await write({ temperature: 0, repetitionPenalty: 1.5, repetitionRange: 5 })).toBe(unsaid)
    expect(await write({ repetitionRange: -1 })).not.toBe(unsaid)
    expect(await write({ repetitionRange: 0 })).toBe(await write({ repetitionPenalty: 1 }))
  })
})

describe('engine llama: another chat template', () => {
  test('is used from then on, without another load, and the own one again', async () => {
    const own = await prompt()
    await capability(engine, 'templates').use({ type: 'named', name: 'loud', source: loud }, never)
    expect(await prompt()).toBe('LOUD HI')
    expect(engine.facts).toMatchObject({ chatTemplate: loud, chatTemplateName: 'loud', hasOwnTemplate: true })
    await capability(engine, 'templates').use({ type: 'own' }, never)
    expect(await prompt()).toBe(own)
    expect(engine.facts.chatTemplateName).toBeUndefined()
    expect(workers()).toHaveLength(1)
  })

  test('may name texts that end the turn, which are not stop sequences of the request', async () => {
    const request = chatRequest('Once upon a time', { maxOutputTokens: 40 })
    const plain = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    await capability(engine, 'templates').use({ type: 'named', name: 'plain', source: plain }, never)
    const { text } = await complete(engine, request)
    const end = text.slice(8, 12)
    const source = `{% set stop_strings = [${JSON.stringify(end)}] %}${plain}`
    await capability(engine, 'templates').use({ type: 'named', name: 'ended', source }, never)
    expect(await complete(engine, request)).toMatchObject({
      text: text.slice(0, text.indexOf(end)),
      reason: 'stop',
      stopSequence: undefined,
    })
    await capability(engine, 'templates').use({ type: 'own' }, never)
  })

  test('that does not parse is refused, and the one in use stays', async () => {
    const own = await prompt()
    const broken = { type: 'named', name: 'broken', source: '{% if %}' } as const
    await expect(capability(engine, 'templates').use(broken, never)).rejects.toMatchObject({ code: 'template-failed' })
    expect(await prompt()).toBe(own)
  })

  test('without any there are no chats', async () => {
    await capability(engine, 'templates').use({ type: 'none' }, never)
    await expect(engine.prepare(chatRequest('hi'), never)).rejects.toMatchObject({ code: 'template-failed' })
    const text = { ...chatRequest(''), prompt: { type: 'text', text: 'Once' } as const, maxOutputTokens: 2 }
    expect((await complete(engine, text)).reason).toBe('length')
    await capability(engine, 'templates').use({ type: 'own' }, never)
  })

  test('does not change what already runs, and refuses what was prepared with the earlier one', async () => {
    const request = chatRequest('Tell me a story', { maxOutputTokens: 30 })
    const expected = await complete(engine, request)
    const waiting = await engine.prepare(request, never)
    const events = runOf(await engine.prepare({ ...request, id: 'running' }, never), never)
    let text = ''
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      if (text === '') await capability(engine, 'templates').use({ type: 'named', name: 'loud', source: loud }, never)
      if (next.value.type === 'raw-text') text += next.value.text
    }
    expect(text).toBe(expected.text)
    await expect(runOf(waiting, never).next()).rejects.toMatchObject({ code: 'request-conflict' })
    await capability(engine, 'templates').use({ type: 'own' }, never)
  })

  test('is still used when the worker was ended and came back', async () => {
    await capability(engine, 'templates').use({ type: 'named', name: 'loud', source: loud }, never)
    const [{ facts } = { facts: {} }] = workers()
    process.kill((facts as { workerPid: number }).workerPid, 'SIGKILL')
    expect(await prompt()).toBe('LOUD HI')
    expect(workers()).toHaveLength(2)
    expect(engine.facts).toMatchObject({ chatTemplateName: 'loud', hasOwnTemplate: true })
    await capability(engine, 'templates').use({ type: 'own' }, never)
  })
})
