import { isContinued, textOf } from '../../../../canonical/parts.ts'
import { AppError } from '../../../../contract/errors.ts'
import type { GenerationRequest, Prompt } from '../../../../contract/request.ts'
import type { CompiledGrammar } from '../../../../grammar/grammar-builder.ts'
import type { GrammarCompiler } from '../../../../threads/grammar-compiler.ts'
import { afterReasoning, fromRoot } from '../../../front/reasoning-grammar.ts'
import { textHeader } from '../../../front/text-header.ts'
import type { SentRequest } from '../../servers/check-upstream.ts'
import type { Upstream } from '../../servers/upstream.ts'
import { callGrammar, callsBesideStructure, callsByGrammar, usualCallTags } from './call-grammar.ts'
import { chatBody, type UpstreamBody } from './chat-body.ts'
import { answerOf, completionBody } from './completion-body.ts'
import { messagesBody } from './messages-body.ts'
import { grammarRequest, usesOurGrammar } from './output-fields.ts'
import { responsesBody } from './responses-body.ts'
import { unsupported } from './sampling-fields.ts'

/**
 * The request to one upstream; a promise if a grammar has to be compiled. Throws, or rejects with, `unsupported-field` and
 * `invalid-request` with the request's field.
 */
export function requestBody(
  request: SentRequest,
  upstream: Upstream,
  grammars: Pick<GrammarCompiler, 'compile'>,
): UpstreamBody | Promise<UpstreamBody> {
  // Servers do not report which tokens belong to the prompt of a conversation.
  const isConversation = request.prompt.type === 'chat' || request.turnEnds !== undefined
  if (request.promptTokens !== undefined && isConversation) throw unsupported(upstream.profile, ['promptTokens'])
  // It has what the output and the calls need.
  if (answerOf(request, upstream.profile) !== undefined) return bodyWith(request, upstream, undefined)
  const isBeside = callsBesideStructure(request, upstream.profile)
  if (isBeside || callsByGrammar(request, upstream.profile)) {
    const compile = (anyArguments: boolean) =>
      grammars.compile(callGrammar(request, { anyArguments, ...(isBeside && { tags: usualCallTags }) }))
    return compile(false)
      .catch(() => compile(true))
      .then((grammar) => bodyWith(request, upstream, withFront(grammar, request)))
  }
  const wanted = grammarRequest(request, upstream.profile)
  if (wanted === undefined) return bodyWith(request, upstream, undefined)
  const isOurs = usesOurGrammar(upstream.profile)
  return grammars.compile(wanted).then((grammar) => bodyWith(request, upstream, isOurs ? withFront(grammar, request) : grammar))
}

/** The grammar applies from the first token of the output, which may belong to a thought. */
function withFront(compiled: CompiledGrammar, { prompt, front, turnEnds }: SentRequest): CompiledGrammar {
  // Where a thought may be is unknown: it may contain the constrained text.
  if (front === undefined)
    return prompt.type === 'chat' || turnEnds !== undefined ? { ...compiled, enforcement: 'partial' } : compiled
  return { ...compiled, grammar: fromRoot(afterReasoning({ gbnf: compiled.grammar, header: textHeader(front.format) }, front)) }
}

function bodyWith(request: SentRequest, upstream: Upstream, grammar: CompiledGrammar | undefined): UpstreamBody {
  const { prompt } = request
  switch (upstream.profile.protocol) {
    case 'completions':
    case 'chat':
      return prompt.type === 'chat'
        ? chatBody(request, prompt, upstream, grammar)
        : completionBody(request, prompt, upstream, grammar)
    case 'responses':
      if (prompt.type !== 'chat') throw onlyConversations(upstream)
      return responsesBody(request, prompt, upstream, grammar)
    case 'messages':
      if (prompt.type !== 'chat') throw onlyConversations(upstream)
      return messagesBody(request, prompt, upstream)
  }
}

function onlyConversations({ profile: { name, protocol } }: Upstream): AppError {
  const message = `the server behind this model (${name}) is spoken to in ${protocol}, which has conversations only: send messages`
  return new AppError('unsupported-field', message, { at: ['prompt'] })
}

/** The request that continues a reply. Undefined if the upstream cannot continue it, or the limit is reached. */
export function continued(
  request: GenerationRequest,
  { thought = '', text, calls = [], outputTokens }: SentReply,
  { profile }: Upstream,
): GenerationRequest | undefined {
  const { maxOutputTokens, minOutputTokens } = request
  const left = maxOutputTokens === undefined ? undefined : maxOutputTokens - outputTokens
  if (left !== undefined && left < 1) return undefined
  const limit = {
    ...(left !== undefined && { maxOutputTokens: left }),
    ...(minOutputTokens !== undefined && { minOutputTokens: Math.max(0, minOutputTokens - outputTokens) }),
  }
  const { prompt } = request
  const isText = thought === '' && calls.length === 0
  if (prompt.type === 'text' && isText) return { ...request, ...limit, prompt: { ...prompt, text: prompt.text + text } }
  if (prompt.type !== 'chat' || profile.continuation === undefined) return undefined
  // Tokens may have come that show no text: there is nothing to continue yet.
  if (text === '' && isText) return { ...request, ...limit }
  // It would be a second thought.
  if (!isText && isContinued(prompt)) return undefined
  return { ...request, ...limit, prompt: appended(prompt, { thought, text, calls }) }
}

/** A call that the client has seen, in part or as a whole. */
export type CallSoFar = { readonly id: string; readonly name: string; readonly arguments: string }

/** A reply that broke off: a thought, text and calls, in this order. */
export type ReplySoFar = { readonly thought: string; readonly text: string; readonly calls: readonly CallSoFar[] }

type SentReply = Partial<ReplySoFar> & { readonly text: string; readonly outputTokens: number }

function appended(prompt: Extract<Prompt, { type: 'chat' }>, { thought, text, calls }: ReplySoFar): Prompt {
  const last = prompt.messages.at(-1)
  const rest = { ...prompt, start: 'last-message', responsePrefix: '' } as const
  if (prompt.start === 'last-message' && last?.role === 'assistant') {
    // One text: two parts would be two paragraphs to some servers.
    const others = last.parts.filter((part) => part.type !== 'text')
    const parts = [...others, { type: 'text', text: textOf(last.parts) + text } as const]
    return { ...rest, messages: [...prompt.messages.slice(0, -1), { ...last, parts }] }
  }
  const thoughts = thought === '' ? [] : [{ type: 'reasoning', text: thought } as const]
  const texts = prompt.responsePrefix + text === '' ? [] : [{ type: 'text', text: prompt.responsePrefix + text } as const]
  const made = calls.map(({ id, name, arguments: input }) => ({ type: 'tool-call', id, name, input }) as const)
  const message = { role: 'assistant', parts: [...thoughts, ...texts, ...made] } as const
  return { ...rest, messages: [...prompt.messages, message] }
}
