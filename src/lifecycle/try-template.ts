import { plainChat } from '../contract/request.ts'
import type { ServedModel } from '../contract/served-model.ts'

const smallChat = {
  prompt: { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] },
  reasoning: {},
} as const

/** Renders a small conversation with a loaded model's template. Rejects as its tokenizer does. */
export async function tryTemplate({ engine }: Pick<ServedModel, 'engine'>, signal: AbortSignal): Promise<void> {
  await engine.capabilities.tokenizer?.render(smallChat, signal)
}
