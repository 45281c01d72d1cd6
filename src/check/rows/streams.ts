import { chat, endless, streamed, user } from '../probe/asks.ts'
import type { Exchange } from '../probe/exchange.ts'
import { chatChunk, faultOf } from '../probe/forms.ts'
import { at, brokenEvent, chatContent, chatText, finishOf, listAt, partsOf, textAt, usageIn } from '../probe/read.ts'
import { answered, moderate, noText, rowsOf, sameText, severe, short, slight, unproven, type Verdict } from '../probe/row.ts'

/** A check of one ordinary stream. */
const ofStream = (judge: (stream: Exchange) => Verdict | string | undefined) =>
  answered((server) => streamed(server))(([stream]) => (stream.events.length === 0 ? 'the reply has no events' : judge(stream)))

const hasUsage = (part: unknown) => at(part, 'usage') !== undefined && at(part, 'usage') !== null

export const streamRows = rowsOf('streams', {
  'content-type': [
    severe('A stream is `text/event-stream`.', 'browsers, and SDKs that look before they read'),
    answered((server) => streamed(server))(([{ headers }]) =>
      headers['content-type']?.includes('text/event-stream') ? undefined : `it is ${headers['content-type']}`,
    ),
  ],
  json: [
    severe('Each event is one JSON value, or `[DONE]`.', 'every client'),
    ofStream((stream) => {
      const broken = brokenEvent(stream)
      return broken === undefined ? undefined : `an event is ${JSON.stringify(short(broken.data))}`
    }),
  ],
  framing: [
    severe('Events are fields and blank lines, as the standard of server-sent events says.', 'clients with a simple reader'),
    ofStream(({ text }) => {
      const odd = text.split(/\r\n|\n|\r/).find((line) => line !== '' && !/^(data|event|id|retry)?:/.test(line))
      if (odd !== undefined) return `a line is ${JSON.stringify(short(odd))}`
      return /\r?\n\r?\n$/.test(text) ? undefined : 'no blank line ends the last event'
    }),
  ],
  form: [
    severe('Each chunk has an id, a model, choices with a delta, and a finish reason or null.', 'every typed SDK'),
    ofStream((stream) =>
      partsOf(stream)
        .map((part) => faultOf(chatChunk, part))
        .find((fault) => fault !== undefined),
    ),
  ],
  done: [
    severe('`data: [DONE]` ends the stream, once.', 'clients that wait for it'),
    ofStream(({ events }) => {
      const count = events.filter(({ data }) => data === '[DONE]').length
      if (count !== 1) return `[DONE] comes ${count} times`
      return events.at(-1)?.data === '[DONE]' ? undefined : `after [DONE] comes ${short(events.at(-1)?.data ?? '')}`
    }),
  ],
  id: [
    moderate('All chunks have the same id, time and model.', 'clients that join chunks by id'),
    ofStream((stream) => {
      const heads = new Set(
        partsOf(stream).map((part) => JSON.stringify([at(part, 'id'), at(part, 'created'), at(part, 'model')])),
      )
      return heads.size <= 1 ? undefined : `there are ${heads.size}: ${short([...heads].join(' '))}`
    }),
  ],
  role: [
    slight('The first delta has the role.', 'clients that join deltas to a message'),
    ofStream((stream) => {
      const first = partsOf(stream).find((part) => listAt(part, 'choices').length > 0)
      return textAt(first, 'choices.0.delta.role') === 'assistant'
        ? undefined
        : `it is ${short(JSON.stringify(at(first, 'choices.0.delta')))}`
    }),
  ],
  finish: [
    severe(
      'Each choice has one finish reason, behind its last text.',
      'agents, which else take a truncated reply for a complete one',
    ),
    ofStream((stream) => {
      const choices = partsOf(stream).flatMap((part) => listAt(part, 'choices'))
      const ends = choices.flatMap((choice, index) => (typeof at(choice, 'finish_reason') === 'string' ? [index] : []))
      if (ends.length !== 1) return `there are ${ends.length} finish reasons`
      const late = choices
        .slice((ends[0] ?? 0) + 1)
        .find((choice) => textAt(choice, 'delta.content') || textAt(choice, 'delta.reasoning_content'))
      return late === undefined ? undefined : `after it comes ${short(JSON.stringify(late))}`
    }),
  ],
  usage: [
    severe(
      'With `include_usage`, the end of the stream has the usage.',
      'those who pay for tokens, and agents that watch the context',
    ),
    ofStream((stream) => {
      const place = partsOf(stream).findLastIndex(hasUsage)
      if (place === -1) return 'no chunk has it'
      return place === partsOf(stream).length - 1 ? undefined : 'chunks follow it'
    }),
  ],
  'usage-once': [
    slight('Chunks before the last have no usage.', 'clients that add up what they see'),
    ofStream((stream) => {
      const count = partsOf(stream).filter(hasUsage).length
      return count <= 1 ? undefined : `${count} chunks have it`
    }),
  ],
  'usage-unasked': [
    slight('Without `include_usage`, no chunk without choices comes.', 'clients that read `choices[0]` of each chunk'),
    answered((server) => chat(server, { stream: true }))(([stream]) =>
      partsOf(stream).some((part) => listAt(part, 'choices').length === 0) ? 'a chunk has no choices' : undefined,
    ),
  ],
  live: [
    severe('Text is sent while it is generated.', 'everyone who waits for the first word'),
    answered((server) => streamed(server, { max_tokens: 40, ...endless(server) }))(([stream]) => {
      const isText = (json: unknown) =>
        textAt(json, 'choices.0.delta.content') || textAt(json, 'choices.0.delta.reasoning_content')
      const times = stream.events.filter(({ json }) => isText(json)).map(({ atMs }) => atMs)
      const [first = 0, last = 0] = [times[0], times.at(-1)]
      const written = usageIn(stream).output ?? 0
      if (stream.ms < 100 || written < 8) return unproven('the reply is over too soon')
      if (times.length === 0) return noText
      if (times.length < 3) return `${written} tokens come in ${times.length} chunks`
      return last - first >= stream.ms * 0.02
        ? undefined
        : `all chunks come within ${Math.round(last - first)} ms, after ${Math.round(first)} ms`
    }),
  ],
  'same-text': [
    severe('A stream has the text that a whole reply has.', 'every user: text is lost or repeated'),
    answered((server) => [chat(server), streamed(server)])(([whole, stream]) => {
      return sameText(chatText(whole), stream === undefined ? '' : chatText(stream))
    }),
  ],
  'same-finish': [
    severe('A truncated stream says `length`, as a truncated whole reply does.', 'agents, which else take it for a complete one'),
    answered((server) => [chat(server, { max_tokens: 3 }), streamed(server, { max_tokens: 3 })])(([whole, stream]) => {
      if (stream === undefined || finishOf(whole) !== 'length') return unproven('the whole reply is not truncated')
      return finishOf(stream) === 'length' ? undefined : `it says ${finishOf(stream)}`
    }),
  ],
  characters: [
    severe('No character is broken between two chunks.', 'users of emoji, and of scripts other than Latin'),
    answered(
      (server) =>
        streamed(server, {
          messages: [user('Repeat exactly: 日本語 🎉🧭 żółć')],
          max_tokens: 200,
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'text', strict: true, schema: { type: 'string', enum: ['日本語 🎉🧭 żółć'] } },
          },
        }),
      { isOptional: true },
    )(([stream]) =>
      chatContent(stream).includes('\ufffd') ? `the text is ${JSON.stringify(short(chatContent(stream)))}` : undefined,
    ),
  ],
  choices: [
    moderate(
      'With `n: 2`, the chunks of each choice have its index, and each choice ends.',
      'evaluations that draw several answers',
    ),
    answered((server) => streamed(server, { n: 2, temperature: 1 }), { isOptional: true })(([stream]) => {
      const choices = partsOf(stream).flatMap((part) => listAt(part, 'choices'))
      const ended = choices.flatMap((choice) => (typeof at(choice, 'finish_reason') === 'string' ? [at(choice, 'index')] : []))
      return [...ended].sort().join() === '0,1' ? undefined : `the choices that end are ${ended.join(', ')}`
    }),
  ],
})
