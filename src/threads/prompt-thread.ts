import { type ChatTemplate, compileChatTemplate } from '../model-text/template/chat-template.ts'
import { splitPrompt } from '../model-text/template/literal-text.ts'
import type { PromptRequest, PromptTask, WrittenPrompt } from './prompt-renderer.ts'
import { serveRequests } from './thread-reply.ts'

/** A thread mostly renders with one template, whose compilation includes trial runs. */
let compiled: { readonly key: string; readonly template: ChatTemplate } | undefined

serveRequests(({ task, template, prompt, ...options }: PromptTask): WrittenPrompt | PromptRequest['prompt'] => {
  if (task === 'heal') return templateOf(template).heal(prompt, options)
  const { traced, startsInReasoning } = templateOf(template).render(prompt, options)
  // A caller's text must not become a special token: a character without width divides it.
  const parts = splitPrompt(traced, template.specialTexts).map(({ text, literal }) => (literal ? divided(text) : text))
  return { text: parts.join(''), startsInReasoning }
})

function templateOf({ source, toolFormat, reasoning, specialTexts: _, ...tokens }: PromptRequest['template']): ChatTemplate {
  const key = JSON.stringify([source, toolFormat, reasoning, tokens])
  if (compiled?.key !== key) compiled = { key, template: compileChatTemplate(source, tokens, { toolFormat, reasoning }) }
  return compiled.template
}

function divided(text: string): string {
  return `${text.slice(0, 1)}\u200b${text.slice(1)}`
}
