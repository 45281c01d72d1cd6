import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { openChat } from '../../support/http/raw-client.ts'
import { encodeGguf } from '../../support/llama/gguf-writer.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { randomModel, randomProjector } from '../../support/llama/models.ts'
import { encodeSmallModel } from '../../support/llama/random-architectures.ts'
import { writeRandomProjector } from '../../support/llama/random-projector.ts'
import { hasSenses, sensesHint } from '../../support/llama/senses.ts'
import { drawing, wav } from '../../support/pictures.ts'

type Json = Readonly<Record<string, unknown>>
/** A part of a message: a text, a picture or a sound. */
type Part = string | Buffer
type Turn = readonly [role: 'user' | 'assistant', parts: readonly Part[]]
/** What a reply says, the tokens of its prompt, and how many of them were reused. */
type Reply = { readonly text: string; readonly inputTokens: number; readonly cached?: number }

const size = [200, 200] as const
const shapes = [
  { x: 60, y: 50, reach: 30 },
  { x: 150, y: 130, reach: 30 },
]
let shade = 0
/** Two shapes, on a ground that no other picture has. */
const picture = (kind: 'square' | 'circle' = 'circle') => {
  shade += 1
  return drawing({ size, ground: [255, 255 - (shade >> 4), 255 - (shade & 15)], paint: [214, 40, 40], kind, shapes })
}
const isSound = (bytes: Buffer) => bytes.subarray(0, 4).toString() === 'RIFF'
const base64 = (bytes: Buffer) => bytes.toString('base64')
const dataUrl = (bytes: Buffer) => `data:image/png;base64,${base64(bytes)}`
const seeing = { source: 'builtin:dragoman-tiny.gguf', mmproj: 'builtin:dragoman-tiny-mmproj.gguf' }
/** Positions of several numbers in a grid, also with a state that is kept at checkpoints, and vectors that see each other. */
const others = [
  { id: 'grid', architecture: 'qwen2vl', type: 'qwen2vl_merger' },
  { id: 'state', architecture: 'qwen35', type: 'qwen2vl_merger' },
  { id: 'mutual', architecture: 'gemma3', type: 'gemma3' },
] as const
const width = 32
const settings = { contextLength: 2048, threads: 1, slots: 2, load: 'demand' as const }

describe.skipIf(!hasSenses)(`media on the embedded engine${sensesHint}`, () => {
  let app: RunningApp
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-senses-'))
    const filesOf = async ({ id, architecture, type }: (typeof others)[number]) => {
      const [source, mmproj] = [join(folder, `${id}.gguf`), join(folder, `${id}-mmproj.gguf`)]
      await writeFile(source, encodeSmallModel(architecture, { width, ...(architecture === 'gemma3' && { window: 64 }) }))
      await writeRandomProjector(mmproj, { embeddingLength: width, type })
      return { id, source, mmproj }
    }
    const random = { source: await randomModel(), mmproj: await randomProjector() }
    const made = await Promise.all(others.map(filesOf))
    const madeOf = (id: string) => made.find((each) => each.id === id) ?? random
    const damaged = join(folder, 'damaged-mmproj.gguf')
    await writeFile(damaged, (await readFile(random.mmproj)).subarray(0, 9000))
    const counting = join(folder, 'counting-mmproj.gguf')
    const text = (value: string) => ({ type: 'string', value }) as const
    const type = ['clip.vision.projector_type', text('hunyuanvl')] as const
    await writeFile(counting, encodeGguf(new Map([['general.architecture', text('clip')], type]), []))
    const server = { engine: 'llama-server' as const, binary: llamaServerBinary ?? '' }
    app = await startApp({
      models: [
        { engine: 'llama', id: 'seeing', ...seeing, ...settings },
        { engine: 'llama', id: 'random', ...random, ...settings },
        ...made.map((files) => ({ engine: 'llama' as const, ...files, ...settings })),
        ...(['memory', 'disk'] as const).map((tier) => {
          const prefixCache = { memory: 'off' as const, disk: 'off' as const, [tier]: '1GB', minTokens: 64 }
          return { engine: 'llama' as const, id: `keeping-in-${tier}`, ...seeing, ...settings, slots: 1, prefixCache }
        }),
        { engine: 'llama', ...madeOf('mutual'), id: 'narrow', ...settings, batchSize: 8 },
        { engine: 'llama', id: 'damaged', source: seeing.source, mmproj: damaged, ...settings },
        { engine: 'llama', id: 'dependent', source: seeing.source, mmproj: counting, ...settings },
        { engine: 'llama', id: 'mismatched', source: seeing.source, mmproj: random.mmproj, ...settings },
        ...(llamaServerBinary === undefined
          ? []
          : [
              { ...server, id: 'seeing-there', ...seeing, ...settings },
              { ...server, id: 'random-there', ...random, ...settings },
              ...made.map((files) => ({ ...server, ...files, id: `${files.id}-there`, ...settings })),
            ]),
      ],
      builtinModel: false,
    })
  })
  afterAll(async () => {
    await app?.close()
    await rm(folder, { recursive: true })
  })

  const send = async (path: string, body: Json) => {
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }
    const reply = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: reply.status, text: await reply.text() }
  }
  const post = async (path: string, body: Json) => {
    const { status, text } = await send(path, body)
    expect(status, text).toBe(200)
    return JSON.parse(text)
  }
  const encoded = () => app.logLines().filter(({ msg }) => /^encoded \d+ tokens/.test(msg ?? '')).length

  const chat = async (model: string, turns: readonly Turn[], more: Json = {}): Promise<Reply> => {
    const messages = turns.map(([role, parts]) => ({
      role,
      content: parts.map((part) => {
        if (typeof part === 'string') return { type: 'text', text: part }
        if (isSound(part)) return { type: 'input_audio', input_audio: { data: base64(part), format: 'wav' } }
        return { type: 'image_url', image_url: { url: dataUrl(part) } }
      }),
    }))
    const greedy = { model, temperature: 0, max_tokens: 24, reasoning_effort: 'none' }
    const { choices, usage } = await post('/v1/chat/completions', { ...greedy, messages, ...more })
    const { prompt_tokens: inputTokens, prompt_tokens_details: details } = usage
    return { text: choices[0].message.content, inputTokens, cached: details?.cached_tokens ?? 0 }
  }
  const messages = async (model: string, turns: readonly Turn[]): Promise<Reply> => {
    const sent = turns.map(([role, parts]) => ({
      role,
      content: parts.map((part) =>
        typeof part === 'string'
          ? { type: 'text', text: part }
          : { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(part) } },
      ),
    }))
    const greedy = { model, temperature: 0, max_tokens: 24, thinking: { type: 'disabled' } }
    const { content, usage } = await post('/v1/messages', { ...greedy, messages: sent })
    const inputTokens = usage.input_tokens + (usage.cache_read_input_tokens ?? 0)
    return { text: content[0].text, inputTokens }
  }
  const responses = async (model: string, turns: readonly Turn[]): Promise<Reply> => {
    const input = turns.map(([role, parts]) => ({
      role,
      content: parts.map((part) =>
        typeof part === 'string'
          ? { type: role === 'user' ? 'input_text' : 'output_text', text: part }
          : { type: 'input_image', image_url: dataUrl(part) },
      ),
    }))
    const greedy = { model, temperature: 0, max_output_tokens: 24, reasoning: { effort: 'none' }, store: false }
    const { output, usage } = await post('/v1/responses', { ...greedy, input })
    const message = output.find(({ type }: { type: string }) => type === 'message')
    return { text: message.content[0].text, inputTokens: usage.input_tokens }
  }
  const ollama = async (model: string, turns: readonly Turn[]): Promise<Reply> => {
    const sent = turns.map(([role, parts]) => ({
      role,
      content: parts.filter((part) => typeof part === 'string').join(''),
      images: parts.filter((part) => typeof part !== 'string').map(base64),
    }))
    const options = { temperature: 0, num_predict: 24 }
    const { message, prompt_eval_count } = await post('/api/chat', {
      model,
      messages: sent,
      options,
      think: false,
      stream: false,
    })
    return { text: message.content, inputTokens: prompt_eval_count }
  }
  const protocols = { chat, messages, responses, ollama }
  const uncached = ({ cached: _, ...reply }: Reply) => reply

  describe.skipIf(llamaServerBinary === undefined)(`llama-server answers the same${llamaServerHint}`, () => {
    const first = picture()
    const second = picture('square')
    const cases: readonly [string, readonly Turn[]][] = [
      ['a picture', [['user', [first, 'How many shapes are there?']]]],
      ['a picture after the question', [['user', ['Which colour do you see?', first]]]],
      ['two pictures in a message', [['user', [first, 'Is this a square or a circle?', second, 'And this?']]]],
      [
        'a picture in each of two turns',
        [
          ['user', [first, 'Is this a square or a circle?']],
          ['assistant', ['circle']],
          ['user', [second, 'And this?']],
        ],
      ],
    ]
    // Ollama has the texts of a message apart from its pictures, and pictures in a row get a line break for a llama-server.
    const asked = cases.flatMap(([what, turns]) =>
      Object.entries(protocols)
        .filter(([protocol]) => protocol !== 'ollama' || what !== 'two pictures in a message')
        .map(([protocol, ask]) => ({ what, turns, protocol, ask })),
    )
    test.each(asked)('$what, in $protocol', async ({ turns, ask }) => {
      const here = uncached(await ask('seeing', turns))
      expect(here).toEqual(uncached(await ask('seeing-there', turns)))
      expect(here.text).not.toBe('')
    })

    test.each<[string, readonly Turn[]]>([
      ['a picture', [['user', ['look ', first, ' and say what it is']]]],
      ['a sound', [['user', ['listen ', wav(1), ' and say what it is']]]],
      ['a picture and a sound', [['user', [first, ' with ', wav(2), ' now']]]],
      ['a sound longer than the window of its encoder', [['user', ['listen ', wav(40), ' now']]]],
    ])('%s, with random weights', async (_, turns) => {
      expect(uncached(await chat('random', turns))).toEqual(uncached(await chat('random-there', turns)))
    })

    test.each(others)('$architecture with $type', async ({ id }) => {
      const opening: Turn = ['user', ['look ', first, ' and say what it is']]
      const alone = uncached(await chat(id, [opening]))
      expect(alone).toEqual(uncached(await chat(`${id}-there`, [opening])))
      const before = encoded()
      const turns: Turn[] = [opening, ['assistant', [alone.text]], ['user', ['and this ', second, ' too']]]
      const [here, there] = [await chat(id, turns), await chat(`${id}-there`, turns)]
      expect(uncached(here)).toEqual(uncached(there))
      expect(encoded()).toBe(before + 1)
      expect(here.cached).toBeGreaterThanOrEqual((there.cached ?? 0) - 1)
      const edited: Turn[] = [...turns.slice(0, 2), ['user', ['or ', second, ' that']]]
      expect(uncached(await chat(id, edited))).toEqual(uncached(await chat(`${id}-there`, edited)))
    })
  })

  test('the next turn computes only what is new, and encodes nothing', { tags: ['gpu'] }, async () => {
    const seen = picture()
    const opening: Turn = ['user', [seen, 'How many shapes are there?']]
    const { text, inputTokens } = await chat('seeing', [opening])
    const before = encoded()
    const next = await chat('seeing', [opening, ['assistant', [text]], ['user', ['Which colour do you see?']]])
    expect(next.cached).toBeGreaterThanOrEqual(inputTokens - 1)
    expect(encoded()).toBe(before)
  })

  test('the bytes of a picture cross to the worker once, however many turns have it', async () => {
    const read = () => app.logLines().filter(({ msg }) => msg === 'the worker reads a medium').length
    const before = read()
    const opening: Turn = ['user', [picture(), picture(), 'How many shapes are there?']]
    const { text } = await chat('seeing', [opening])
    expect(read()).toBe(before + 2)
    await chat('seeing', [opening, ['assistant', [text]], ['user', [picture(), 'Which colour do you see?']]])
    expect(read()).toBe(before + 3)
  })

  test('another picture in the same place is not taken for the first', { tags: ['gpu'] }, async () => {
    const circles = await chat('seeing', [['user', [picture('circle'), 'Is this a square or a circle?']]])
    const squares = await chat('seeing', [['user', [picture('square'), 'Is this a square or a circle?']]])
    expect([circles.text, squares.text]).toEqual(['circle', 'square'])
  })

  test('a picture that a slot no longer holds is not encoded again', async () => {
    const seen = picture()
    await chat('seeing', [['user', [seen, 'How many shapes are there?']]])
    const before = encoded()
    const elsewhere = await chat('seeing', [['user', ['Tell me: ', seen, 'How many shapes are there?']]])
    expect(elsewhere.cached).toBeLessThan(16)
    expect(encoded()).toBe(before)
  })

  test('a hang-up ends the encoding at the next picture', async () => {
    const pictures = Array.from({ length: 60 }, () => picture())
    const content = pictures.map((each) => ({ type: 'image_url', image_url: { url: dataUrl(each) } }))
    const before = encoded()
    const chat = openChat(app.url, {
      model: 'random',
      stream: true,
      messages: [{ role: 'user', content: [...content, { type: 'text', text: 'look' }] }],
    })
    await until(() => encoded() > before + 2)
    chat.hangUp()
    expect((await send('/v1/completions', { model: 'random', prompt: 'hello', max_tokens: 4 })).status).toBe(200)
    const encodedByThen = encoded()
    expect(encodedByThen).toBeLessThan(before + pictures.length)
    // It has ended: nothing is encoded any more while another request is answered.
    expect((await send('/v1/completions', { model: 'random', prompt: 'hello again', max_tokens: 4 })).status).toBe(200)
    expect(encoded()).toBe(encodedByThen)
  })

  test('the tokens of a prompt with media cannot be reported', async () => {
    const content = [{ type: 'image_url', image_url: { url: dataUrl(picture()) } }]
    const { status, text } = await send('/v1/chat/completions', {
      model: 'seeing',
      messages: [{ role: 'user', content }],
      prompt_logprobs: 1,
    })
    expect({ status, text }).toMatchObject({ status: 400, text: expect.stringContaining('prompt_logprobs') })
  })

  test.each([
    ['damaged', /mmproj/],
    ['dependent', /projector of type 'hunyuanvl': serve the model with a llama-server/],
    ['mismatched', /mismatch between text model \(n_embd = \d+\) and mmproj \(n_embd = 64\).*set `mmproj` to the projector/],
  ])('a projector that is %s is named, and other models go on', async (model, message) => {
    const [failed, other] = await Promise.all([
      send('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi.' }] }),
      chat('seeing', [['user', [picture(), 'How many shapes are there?']]]),
    ])
    expect(failed.status).toBe(503)
    expect(failed.text).toMatch(message)
    expect(other.text).toBe('2')
  })

  test.each(['memory', 'disk'])('a prefix with a picture returns from the %s, to its own picture only', async (tier) => {
    const model = `keeping-in-${tier}`
    const [first, second] = [picture('circle'), picture('square')]
    const words = 'The cat sat on the mat. '.repeat(20)
    const about = (seen: Buffer): Turn[] => [['user', [words, seen, 'Is this a square or a circle?']]]
    const { text } = await chat(model, about(first))
    await chat(model, [['user', ['Some birds fly over our sea. '.repeat(20)]]])
    const again = await chat(model, about(first))
    expect(again).toMatchObject({ text, cached: expect.toSatisfy((cached) => cached > again.inputTokens - 20) })
    const other = await chat(model, about(second))
    expect(other.cached).toBeLessThan(again.cached ?? 0)
    expect(other.text).toBe((await chat('seeing', about(second))).text)
  })

  test('a picture that needs a longer pass than there is is refused with both numbers', async () => {
    const content = [
      { type: 'image_url', image_url: { url: dataUrl(picture()) } },
      { type: 'text', text: 'look' },
    ]
    const { status, text } = await send('/v1/chat/completions', { model: 'narrow', messages: [{ role: 'user', content }] })
    expect({ status, text }).toMatchObject({
      status: 400,
      text: expect.stringMatching(/has 16 tokens.*a pass has 8.*`batchSize`/),
    })
  })

  test('all choices of a request see the picture', { tags: ['gpu'] }, async () => {
    const content = [
      { type: 'image_url', image_url: { url: dataUrl(picture()) } },
      { type: 'text', text: 'How many shapes are there?' },
    ]
    const before = encoded()
    const { choices } = await post('/v1/chat/completions', {
      model: 'seeing',
      n: 3,
      temperature: 0,
      max_tokens: 8,
      reasoning_effort: 'none',
      messages: [{ role: 'user', content }],
    })
    expect(choices.map(({ message }: { message: { content: string } }) => message.content)).toEqual(['2', '2', '2'])
    expect(encoded()).toBe(before + 1)
  })
})
