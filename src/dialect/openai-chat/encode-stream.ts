import type { GenerationEvent } from '../../core/event.ts'
import type { StreamEncoder } from '../dialect.ts'
import { encodeOpenaiError } from '../openai-errors.ts'
import { encodeUsage, finishReasons, type ReplyHead } from './encode.ts'

const done = 'data: [DONE]\n\n'

/**
 * Turns events into `chat.completion.chunk` frames. A chunk differs from the next only in its delta, so all else is
 * written once per choice: the JSON of one short text is all that a token costs.
 */
export function createChunkEncoder(head: ReplyHead, includeUsage: boolean): StreamEncoder {
  const opening = `data: ${encodeOpening(head)},"choices":[`
  // OpenAI: with include_usage every other chunk has a null usage; without it, none has the key.
  const closing = includeUsage ? '],"usage":null}\n\n' : ']}\n\n'
  const deltaEnd = `},"logprobs":null,"finish_reason":null}${closing}`
  const choiceHeads: string[] = []
  const started: boolean[] = []
  const toolCallIds: string[][] = []

  /** The text before a choice's delta, up to and with the delta's opening brace. */
  function headOf(choice: number): string {
    const known = choiceHeads[choice]
    if (known !== undefined) return known
    const made = `${opening}{"index":${choice},"delta":{`
    choiceHeads[choice] = made
    return made
  }

  /** The role chunk at a choice's first event, and nothing later. */
  function start(choice: number): string {
    if (started[choice] === true) return ''
    started[choice] = true
    return `${headOf(choice)}"role":"assistant","content":""${deltaEnd}`
  }

  function chunk(choice: number, delta: string): string {
    return start(choice) + headOf(choice) + delta + deltaEnd
  }

  function toolIdsOf(choice: number): string[] {
    toolCallIds[choice] ??= []
    return toolCallIds[choice]
  }

  function encode(event: GenerationEvent): string {
    switch (event.type) {
      case 'text-delta':
        return chunk(event.choice, `"content":${toJson(event.delta)}`)
      case 'reasoning-delta': {
        const delta = toJson(event.delta)
        return chunk(event.choice, `"reasoning_content":${delta},"reasoning":${delta}`)
      }
      case 'tool-call-start': {
        const { choice, id, name } = event
        const index = toolIdsOf(choice).push(id) - 1
        return chunk(choice, `"tool_calls":${toJson([{ index, id, type: 'function', function: { name, arguments: '' } }])}`)
      }
      case 'tool-call-delta': {
        // The last one, should an upstream have given two calls the same id.
        const index = toolIdsOf(event.choice).lastIndexOf(event.id)
        return chunk(event.choice, `"tool_calls":${toJson([{ index, function: { arguments: event.delta } }])}`)
      }
      case 'finish': {
        const reason = finishReasons[event.reason]
        return `${start(event.choice)}${headOf(event.choice)}},"logprobs":null,"finish_reason":"${reason}"}${closing}`
      }
      case 'prompt-read':
        // There is always a first choice, and the client sees that the model has begun.
        return start(0)
      case 'text-start':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
      case 'tool-call-end':
        return start(event.choice)
      case 'usage':
        return includeUsage ? `${opening}],"usage":${toJson(encodeUsage(event.usage))}}\n\n${done}` : done
      case 'error':
        return `data: ${toJson(encodeOpenaiError(event.error))}\n\n${done}`
    }
  }

  return { encode }
}

/** The chunk's constant first fields, without the closing brace. */
function encodeOpening({ id, createdSeconds, model, systemFingerprint }: ReplyHead): string {
  const fields = { id, object: 'chat.completion.chunk', created: createdSeconds, model, system_fingerprint: systemFingerprint }
  return toJson(fields).slice(0, -1)
}

const lineBreak = /[\u0085\u2028\u2029]/
const lineBreaks = /[\u0085\u2028\u2029]/g

/** JSON on one line for every client: Python's `splitlines`, which httpx uses on streams, breaks lines at these too. */
function toJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!lineBreak.test(json)) return json
  return json.replace(lineBreaks, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
