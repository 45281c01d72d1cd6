import { AppError } from '../../core/errors.ts'
import type { Prompt } from '../../core/request.ts'
import { protectSpecialTokens } from '../../core/template/literal-text.ts'
import type { WorkerModel } from './model.ts'

type PromptModel = Pick<WorkerModel, 'model' | 'context' | 'vocabulary' | 'template'>

export type PreparedPrompt = { readonly tokens: Uint32Array; readonly templateMs: number }

/**
 * Renders and tokenizes a prompt, and checks that it fits with the requested output. Control tokens come from the template
 * alone; in the caller's text they are text. Throws `context-length-exceeded` with both numbers, or `template-failed`.
 */
export function preparePrompt(loaded: PromptModel, prompt: Prompt, maxOutputTokens: number | undefined): PreparedPrompt {
  const startedMs = performance.now()
  const ids = prompt.type === 'chat' ? chatTokens(loaded, prompt) : loaded.model.tokenize(prompt.text, false)
  const { bos, shouldPrependBosToken } = loaded.model.tokens
  const tokens = Uint32Array.from(shouldPrependBosToken && bos !== null && ids[0] !== bos ? [bos, ...ids] : ids)
  if (tokens.length === 0) throw new AppError('invalid-request', 'the prompt is empty: it must hold at least one token')
  checkFits(tokens.length, maxOutputTokens, loaded.context.contextSize)
  return { tokens, templateMs: Math.round(performance.now() - startedMs) }
}

function chatTokens({ model, vocabulary, template }: PromptModel, prompt: Extract<Prompt, { type: 'chat' }>): number[] {
  if (template === undefined) {
    const message = 'this model has no chat template; set `chatTemplate` for it in the configuration, or send plain text'
    throw new AppError('template-failed', message)
  }
  const { value, split } = protectSpecialTokens(prompt, vocabulary.controlTexts)
  const ids: number[] = []
  for (const [index, { text, literal }] of split(template.render(value)).entries()) {
    // Tokenizers that add a space in front of a text must do it once, at the very start.
    for (const id of model.tokenize(text, !literal, index === 0 ? undefined : 'trimLeadingSpace')) ids.push(id)
  }
  return ids
}

function checkFits(inputTokens: number, outputTokens: number | undefined, contextLength: number): void {
  if (inputTokens + (outputTokens ?? 1) <= contextLength) return
  const requested =
    outputTokens === undefined
      ? `the prompt has ${inputTokens} tokens`
      : `${inputTokens + outputTokens} tokens were requested: ${inputTokens} in the prompt, ${outputTokens} for the output`
  const message = `this model's context length is ${contextLength} tokens, but ${requested}; shorten the prompt or ask for less output`
  throw new AppError('context-length-exceeded', message, {
    param: 'messages',
    overflow: { inputTokens, contextLength, ...(outputTokens !== undefined && { outputTokens }) },
  })
}
