import type { Prompt } from '../../../../contract/request.ts'

type ChatPrompt = Extract<Prompt, { type: 'chat' }>

/**
 * The conversation that a server is sent. Where the messages show the tools themselves, it gets no tools, and results are what the user
 * says: servers refuse a result without a call.
 */
export function shownPrompt(prompt: ChatPrompt): ChatPrompt {
  const { toolFormat, messages } = prompt
  if (toolFormat === undefined) return prompt
  return {
    ...prompt,
    tools: [],
    messages: messages.map((message) => (message.role === 'tool' ? { role: 'user', content: message.content } : message)),
  }
}
