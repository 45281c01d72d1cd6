import type { EngineEvent, GeneratedToken } from '../../../../contract/event.ts'
import type { FunctionTool } from '../../../../contract/request.ts'
import type { WriterOptions } from '../../../../model-text/formats/call-writer.ts'
import { findTool, undeclaredName } from '../../../../model-text/formats/find-tool.ts'
import { CallArguments, isEmptyObject } from '../../../../model-text/parse/call-arguments.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import type { WireCall } from '../../transport/wire-chunk.ts'
import type { CallSoFar } from '../body/request-body.ts'

/** The bounds of one choice: its calls in total, unfinished at one time, and their length together. */
const maxCalls = 1024
const maxOpen = 128
const maxLength = 8 * 1024 * 1024

type CallOptions = Pick<WriterOptions, 'tools' | 'declared' | 'parallel' | 'makeCallId'> & {
  /** The treatment of calls to other tools: as text, as a call nevertheless, or, with `dropped`, as nothing if the tool is declared. */
  readonly others: 'text' | 'calls' | 'dropped'
}

type OpenCall = {
  readonly index: number
  id: string | undefined
  name: string
  /** The tool that this name means, found once for each name. */
  found: { readonly name: string; readonly tool: FunctionTool | undefined } | undefined
  /** Arguments that arrived before the name was certain; all of them if no such tool may be called. */
  held: string
  /** The call as it was emitted. */
  made: { readonly id: string; readonly arguments: CallArguments } | undefined
  /** Tokens of pieces without an event yet. */
  tokens: readonly GeneratedToken[]
  muted: boolean
}

/**
 * Assembles the tool calls of one choice. A call ends when its arguments are complete and another begins, or with the choice: a few servers
 * interleave the pieces of several calls.
 */
export class CallStream {
  readonly #choice: number
  readonly #options: CallOptions
  /** The calls as emitted, by id. */
  readonly #sent = new Map<string, CallSoFar>()
  #open: readonly OpenCall[] = []
  #begun = 0
  #length = 0
  /** Calls emitted so far. */
  calls = 0

  constructor(choice: number, options: CallOptions) {
    this.#choice = choice
    this.#options = options
  }

  /** The calls so far, if the last one, and no other, is unfinished. */
  get soFar(): readonly CallSoFar[] | undefined {
    const sent = [...this.#sent.values()]
    const [open, ...others] = this.#open
    return others.length === 0 && open?.made !== undefined && open.made.id === sent.at(-1)?.id ? sent : undefined
  }

  /** Adds one piece. Throws an `UpstreamError` for more calls, or longer ones, than any request needs. */
  push(piece: WireCall, tokens: readonly GeneratedToken[]): readonly EngineEvent[] {
    this.#length += piece.name.length + piece.arguments.length
    if (this.#length > maxLength) throw excess(`calls of more than ${maxLength} characters`)
    const known = this.#open.findLast((call) => call.index === piece.index && !isOther(call, piece))
    if (known !== undefined) return this.#add(known, piece, tokens)
    // The rest of a complete call, such as white space.
    if (piece.name === '' && piece.id === undefined && this.calls > 0) return []
    this.#begun += 1
    if (this.#begun > maxCalls || this.#open.length >= maxOpen)
      throw excess(`more than ${maxOpen} open calls, or ${maxCalls} in all`)
    const { index, id } = piece
    const open: OpenCall = { index, id, name: '', found: undefined, held: '', made: undefined, tokens: [], muted: false }
    // If calls open with an empty object, the arguments of the calls before may still come.
    const opens = isEmptyObject(piece.arguments)
    const isEnded = (read: CallArguments) => read.isComplete && !(opens && read.isOpening)
    const ended = this.#open.filter(({ made }) => made === undefined || isEnded(made.arguments))
    const events = ended.flatMap((call) => this.#endCall(call, false))
    this.#open = [...this.#open.filter((call) => !ended.includes(call)), open]
    return [...events, ...this.#add(open, piece, tokens)]
  }

  /** Ends all open calls. `truncated`: the token limit was reached. */
  end(truncated: boolean): readonly EngineEvent[] {
    const events = this.#open.flatMap((call) => this.#endCall(call, truncated))
    this.#open = []
    return events
  }

  #add(open: OpenCall, piece: WireCall, tokens: readonly GeneratedToken[]): readonly EngineEvent[] {
    if (open.muted) return []
    const isRepeated = open.id !== undefined && open.id === piece.id && open.name === piece.name
    open.id ??= piece.id
    if (open.made === undefined) {
      if (!isRepeated) open.name += piece.name
      open.held += piece.arguments
      open.tokens = [...open.tokens, ...tokens]
      return open.held !== '' || this.#isCertain(open.name) ? this.#start(open) : []
    }
    const delta = open.made.arguments.push(piece.arguments)
    return delta === '' && tokens.length === 0 ? [] : [this.#delta(open.made.id, delta, tokens)]
  }

  #endCall(open: OpenCall, truncated: boolean): readonly EngineEvent[] {
    const events = open.made === undefined ? [...this.#start(open)] : []
    if (open.muted) return events
    if (open.made === undefined) return this.#options.others === 'calls' ? events : [...events, this.#asText(open)]
    const { delta, outcome } = open.made.arguments.end(truncated)
    if (delta !== '') events.push(this.#delta(open.made.id, delta, []))
    return [...events, { type: 'tool-call-end', choice: this.#choice, id: open.made.id, ...outcome }]
  }

  /** A declared name that is not the prefix of another. */
  #isCertain(name: string): boolean {
    const { declared } = this.#options
    return (
      declared.some((tool) => tool.name === name) && !declared.some((tool) => tool.name !== name && tool.name.startsWith(name))
    )
  }

  #toolOf(open: OpenCall): FunctionTool | undefined {
    const { declared, others } = this.#options
    if (open.found?.name !== open.name) {
      const any = others === 'calls' && open.name !== '' ? { name: undeclaredName(open.name) } : undefined
      open.found = { name: open.name, tool: findTool(declared, open.name) ?? any }
    }
    return open.found?.tool
  }

  #start(open: OpenCall): readonly EngineEvent[] {
    const { tools, parallel, others } = this.#options
    const tool = this.#toolOf(open)
    const isCallable = tool !== undefined && (others === 'calls' || tools.includes(tool))
    if (tool === undefined || (!isCallable && others === 'text')) return []
    if (!isCallable || (this.calls > 0 && !parallel)) {
      open.muted = true
      return []
    }
    const { tokens } = open
    open.tokens = []
    this.calls += 1
    const id = open.id === undefined || this.#sent.has(open.id) ? this.#options.makeCallId() : open.id
    this.#sent.set(id, { id, name: tool.name, arguments: '' })
    open.made = { id, arguments: new CallArguments(tool) }
    const start: EngineEvent = {
      type: 'tool-call-start',
      choice: this.#choice,
      id,
      name: tool.name,
      ...(tokens.length > 0 && { tokens }),
    }
    const delta = open.made.arguments.push(open.held)
    return delta === '' ? [start] : [start, this.#delta(id, delta, [])]
  }

  #delta(id: string, delta: string, tokens: readonly GeneratedToken[]): EngineEvent {
    const sent = this.#sent.get(id)
    if (sent !== undefined) this.#sent.set(id, { ...sent, arguments: sent.arguments + delta })
    return { type: 'tool-call-delta', choice: this.#choice, id, delta, ...(tokens.length > 0 && { tokens }) }
  }

  /** No such tool was declared: the call is passed on as text. */
  #asText({ name, held, tokens }: OpenCall): EngineEvent {
    return {
      type: 'raw-text',
      choice: this.#choice,
      text: `{"name": ${JSON.stringify(name)}, "arguments": ${held === '' ? '{}' : held}}`,
      ...(tokens.length > 0 && { tokens }),
    }
  }
}

function excess(what: string): UpstreamError {
  return new UpstreamError({ type: 'excess' }, `the server behind this model sent ${what} in one reply`)
}

/** Some servers give every call index 0, with a new id or without one; others repeat the name or the id in every piece. */
function isOther(open: OpenCall, piece: WireCall): boolean {
  if (piece.name === '') return false
  if (piece.id !== undefined && open.id !== undefined) return piece.id !== open.id
  return open.made?.arguments.isComplete === true && (piece.arguments !== '' || piece.name !== open.name)
}
