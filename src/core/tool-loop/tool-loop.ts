import { type Emit, emitAtOnce } from '../../base/emit.ts'
import { thousandths } from '../../base/thousandths.ts'
import { callsOf, textOf } from '../../canonical/parts.ts'
import type { RequestContext } from '../../contract/context.ts'
import { AppError } from '../../contract/errors.ts'
import type { EventOf, FinishReason, GenerationEvent, ServerToolCall } from '../../contract/event.ts'
import { type CanonicalPath, field } from '../../contract/field.ts'
import type { ChatPrompt, GenerationRequest, MediaPart, Message, ToolChoice, ToolUse } from '../../contract/request.ts'
import type { ToolListing, ToolOutcome } from '../../contract/server-tool.ts'
import type { PromptChange } from '../../contract/usage.ts'
import { generate } from '../generate.ts'
import { finishOfCancelled } from '../run-observer.ts'
import { CallRunner, type ReadCall } from './call-runner.ts'
import { callersNames } from './choice.ts'
import { addedBefore, asFunction, picturesMessage, resultMessage, turnRequest, withShortResults } from './conversation.ts'
import type { AnswerDeps } from './deps.ts'
import { listFor, offerTools } from './first-prompt.ts'
import { LoopRules } from './loop-rules.ts'
import type { Offer } from './offer.ts'
import { picturesFor } from './pictures.ts'
import { placeOf, withCallersPlaces } from './places.ts'
import { TurnRecorder } from './turn-recorder.ts'
import { UsageSum } from './usage-sum.ts'

type Begun = {
  readonly request: GenerationRequest
  readonly toolUse: ToolUse
  readonly context: RequestContext
  readonly emit: Emit<GenerationEvent>
}

/** Reasons for ending a turn whose calls are complete. */
const completeReasons: ReadonlySet<FinishReason> = new Set(['tool-calls', 'stop', 'end-of-message'])

/** For the results in one reply: a model has few tokens for pictures that nobody asked for. */
const maxPictures = 8

/** Runs the turns of the model for one reply, and the calls between them. */
export class ToolLoop {
  readonly #deps: AnswerDeps
  readonly #request: GenerationRequest
  readonly #use: ToolUse
  readonly #context: RequestContext
  readonly #emit: Emit<GenerationEvent>
  readonly #chat: ChatPrompt
  readonly #rules: LoopRules
  readonly #usage = new UsageSum()
  readonly #maxTurns: number
  /** Messages of the loop before the caller's. */
  readonly #added: number
  #listing: ToolListing = { tools: [], absent: [] }
  #messages: readonly Message[]
  #hasStarted = false
  #isShortened = false
  #hasAsked = false
  #pictureRoom = maxPictures
  /** Messages of the loop with pictures. */
  readonly #shown = new Set<Message>()
  /** No visible output separates the last turn's text from the next. */
  #needsBreak = false

  constructor(deps: AnswerDeps, { request, toolUse, context, emit }: Begun) {
    this.#deps = deps
    this.#request = request
    this.#use = toolUse
    this.#context = context
    this.#emit = emit
    this.#chat = chatOf(request)
    this.#messages = this.#chat.messages
    this.#maxTurns = request.toolChoice.type === 'none' ? 0 : toolUse.maxTurns
    this.#added = this.#maxTurns > 0 ? addedBefore(this.#messages) : 0
    this.#rules = new LoopRules(this.#maxTurns, toolUse.maxCalls)
  }

  /** Rejects like a generation. */
  async run(): Promise<void> {
    const { signal } = this.#context
    try {
      this.#listing = await listFor(this.#deps, this.#use, this.#context)
      await this.#turns()
    } catch (error) {
      const reason = finishOfCancelled(signal)
      if (reason === undefined) throw error
      this.#endAtOnce(reason)
    } finally {
      await this.#listing.end?.()
      this.#context.onWorkEnded?.()
    }
  }

  async #turns(): Promise<void> {
    const asked = { use: this.#use, chat: this.#chat, choice: this.#request.toolChoice }
    const { tools, listings, choice, messages } = offerTools(this.#deps, asked, this.#listing)
    const before = this.#messages.length
    // Without a budget, the model gets no tools.
    if (this.#maxTurns > 0) this.#messages = messages
    const first = this.#messages.length
    const emit: Emit<GenerationEvent> = (event) => (event.type === 'start' ? this.#start(event, listings) : this.#emit(event))
    const callers = callersNames(this.#chat.tools, choice)
    const around = { use: this.#use, context: this.#context, tools, callers, rules: this.#rules, emit }
    const runner = new CallRunner(this.#deps, around, callIdsOf(this.#messages))
    if (this.#use.approvals !== undefined && before > 0) {
      const waiting = await this.#answerWaiting(runner, () => this.#start(undefined, listings))
      if (waiting.length > 0) return await this.#askNextRequest(waiting)
    }
    const functions = [...tools.values()].map(asFunction)
    for (;;) {
      const mayCall = this.#rules.beginTurn()
      const turn = await this.#turn({ mayCall, functions, callers, emit, first, choice })
      if (turn === 'again') continue
      const { recorder, finish } = turn
      if (!mayCall && completeReasons.has(finish.reason) && this.#mayAskOnce(recorder)) {
        this.#refuseAll(runner, recorder)
        continue
      }
      const isCallers = recorder.calls.callers.length > 0
      const isLost = isCallers && this.#use.hidesCalls === true
      if (!mayCall || recorder.calls.server.length === 0 || isLost || !completeReasons.has(finish.reason)) {
        const isOwn = finish.reason === 'tool-calls' && !isCallers
        return await this.#end(isOwn ? { ...finish, reason: 'stop' } : finish)
      }
      await recorder.closeBlock()
      const isShown = recorder.calls.server.some(({ name }) => tools.has(name))
      this.#needsBreak = !isShown && (this.#needsBreak || textOf(recorder.parts) !== '')
      const waiting = await this.#answerAll(runner, recorder)
      // The caller continues.
      if (isCallers) return await this.#askNextRequest(waiting, finish)
      if (waiting.length > 0) return await this.#askNextRequest(waiting)
    }
  }

  /** Runs one turn of the model. `again`: its prompt was too long, and is now shorter. */
  async #turn({ mayCall, functions, callers, emit, first, choice }: TurnOptions) {
    const isFirst = !this.#hasStarted
    const beganMs = this.#deps.now()
    const lead = this.#needsBreak ? '\n\n' : ''
    const recorder = new TurnRecorder({ isFirst, isCallers: (name) => callers.has(name), lead, emit })
    const turn = { messages: this.#messages, tools: functions, isFirst, mayCall, choice }
    const context = isFirst ? this.#context : { ...this.#context, receivedAtMs: beganMs }
    try {
      await generate(this.#deps, [turnRequest(this.#request, this.#chat, turn)], context).run(recorder.take)
      const { finish, usage } = recorder.ending
      this.#usage.add(usage, isFirst ? 0 : beganMs - this.#context.receivedAtMs)
      return { recorder, finish }
    } catch (error) {
      const isTooLong = error instanceof AppError && error.code === 'context-length-exceeded'
      if (!isTooLong || isFirst || this.#isShortened) throw withCallersPlaces(error, this.#added)
      this.#isShortened = true
      this.#rules.forceAnswer()
      const messages = this.#messages.filter((message) => !this.#shown.has(message))
      this.#messages = withShortResults(messages, first)
      return 'again'
    }
  }

  /** Allows one more turn if the model called tools in its last turn without answering. */
  #mayAskOnce({ calls, parts }: TurnRecorder): boolean {
    if (this.#hasAsked || calls.server.length === 0 || calls.callers.length > 0 || textOf(parts).trim() !== '') return false
    this.#hasAsked = true
    return true
  }

  /** Reports to the model that its calls were not made. */
  #refuseAll(runner: CallRunner, { calls }: TurnRecorder): void {
    const parts = calls.server.map((part) => runner.read(part).part)
    const outcome = {
      text: 'The call was not made: there are no more calls.',
      isError: true,
      advice: 'Answer with what you know.',
    }
    const results = parts.map((part) => resultMessage(part, outcome))
    this.#messages = [...this.#messages, { role: 'assistant', parts }, ...results]
  }

  /** Answers a turn's calls, in order, except the caller's. Returns those that wait for the next request. */
  async #answerAll(runner: CallRunner, { parts, calls: { callers } }: TurnRecorder): Promise<readonly ServerToolCall[]> {
    const calls: ReadCall[] = []
    const said = parts.map((part) => {
      if (part.type !== 'tool-call' || callers.includes(part)) return part
      const call = runner.read(part)
      calls.push(call)
      return call.part
    })
    this.#messages = [...this.#messages, { role: 'assistant', parts: said }]
    const waiting: ServerToolCall[] = []
    const pictures: MediaPart[] = []
    for (const call of calls) {
      const answered = await runner.answer(call)
      if (answered.type === 'waits') {
        waiting.push(answered.call)
        continue
      }
      this.#messages = [...this.#messages, await this.#resultOf(call, answered.outcome, pictures)]
    }
    this.#show(pictures)
    return waiting
  }

  /** The message with a result; its pictures that the model can see are added to the others. */
  async #resultOf({ part }: ReadCall, outcome: ToolOutcome, pictures: MediaPart[]): Promise<Message> {
    const seen = await picturesFor(this.#deps, outcome, { ...this.#context, room: this.#pictureRoom })
    pictures.push(...seen)
    this.#pictureRoom -= seen.length
    return resultMessage(part, outcome, seen.length)
  }

  #show(pictures: readonly MediaPart[]): void {
    if (pictures.length === 0) return
    const message = picturesMessage(pictures)
    this.#shown.add(message)
    this.#messages = [...this.#messages, message]
  }

  /** Answers calls of the conversation that waited for an approval, right after the turn that made them. */
  async #answerWaiting(runner: CallRunner, start: () => void | Promise<void>): Promise<readonly ServerToolCall[]> {
    const answered = new Set(this.#messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
    const approvals = new Map(this.#use.approvals?.map((approval) => [approval.callId, approval]))
    const messages: Message[] = []
    const waiting: ServerToolCall[] = []
    const pictures: MediaPart[] = []
    let results: Message[] = []
    for (const message of this.#messages) {
      if (message.role !== 'tool') messages.push(...results.splice(0))
      messages.push(message)
      if (message.role !== 'assistant') continue
      for (const part of callsOf(message.parts)) {
        const approval = approvals.get(part.id)
        if (approval === undefined || answered.has(part.id)) continue
        await start()
        const call = runner.readAgain(part)
        const result = await runner.answer(call, approval)
        if (result.type === 'waits') waiting.push(result.call)
        else results = [...results, await this.#resultOf(call, result.outcome, pictures)]
      }
    }
    this.#messages = [...messages, ...results]
    this.#show(pictures)
    return waiting
  }

  /** Ends the reply with the calls that the next request has to approve. */
  async #askNextRequest(
    calls: readonly ServerToolCall[],
    finish: EventOf<'finish'> = { type: 'finish', choice: 0, reason: 'stop' },
  ) {
    for (const call of calls) await this.#emit({ type: 'approval-request', choice: 0, call })
    await this.#end(finish)
  }

  /** Begins the reply, with reports about MCP servers. */
  async #start(
    event: EventOf<'start'> = { type: 'start', model: this.#context.model.id, warnings: [] },
    listings: Offer['listings'] = [],
  ): Promise<void> {
    if (this.#hasStarted) return
    this.#hasStarted = true
    const { diverged, compared, ignored } = event
    const place = (path: CanonicalPath) => placeOf(path, this.#added)
    const placed = (change: PromptChange) => ({ ...change, at: place(change.at) })
    await this.#emit({
      ...event,
      ...(diverged !== undefined && { diverged: placed(diverged) }),
      ...(typeof compared === 'object' && { compared: placed(compared) }),
      ...(ignored !== undefined && { ignored: ignored.map(place) }),
    })
    for (const listing of listings) await this.#emit(listing)
  }

  async #end(finish: EventOf<'finish'>): Promise<void> {
    await this.#emit(finish)
    await this.#emit(this.#usageEvent())
  }

  /** Ends the reply without waiting for a reader, after a cancel. */
  #endAtOnce(reason: FinishReason): void {
    if (!this.#hasStarted) emitAtOnce(this.#emit, { type: 'start', model: this.#context.model.id, warnings: [] })
    emitAtOnce(this.#emit, { type: 'finish', choice: 0, reason })
    emitAtOnce(this.#emit, this.#usageEvent())
  }

  #usageEvent() {
    return this.#usage.event(thousandths(this.#deps.now() - this.#context.receivedAtMs))
  }
}

type TurnOptions = {
  readonly mayCall: boolean
  readonly functions: ReturnType<typeof asFunction>[]
  /** The names of the caller's own tools. */
  readonly callers: ReadonlySet<string>
  readonly emit: Emit<GenerationEvent>
  /** The index of the first message that the loop added. */
  readonly first: number
  /** The choice of the first turn. */
  readonly choice: ToolChoice
}

function chatOf({ prompt, choices }: GenerationRequest): ChatPrompt {
  if (prompt.type !== 'chat') throw new Error('only conversations have tools of the server')
  if (choices === 1) return prompt
  const message = `${field('choices')} is ${choices}, and ${field('toolUse')} allows one: send one request for each`
  throw new AppError('invalid-request', message, { at: ['choices'] })
}

function callIdsOf(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => (message.role === 'assistant' ? callsOf(message.parts).map(({ id }) => id) : []))
}
