// The calls of @anthropic-ai/sdk.
import Anthropic from '@anthropic-ai/sdk'
import { greeting, model, parameters, question, thought, weather } from './said.mjs'

const limits = { max_tokens: 2048 }
const tools = [{ name: 'weather', description: 'The weather of a city.', input_schema: parameters }]

export function calls(url) {
  const { messages, models } = new Anthropic({ baseURL: url, apiKey: 'unused', maxRetries: 0 })
  const create = (more) => messages.create({ model, messages: greeting, ...limits, ...more })
  return {
    models: () => models.list(),
    messages: () => create({}),
    'messages, streamed': () => messages.stream({ model, messages: greeting, ...limits }).finalMessage(),
    thinking: () => create({ messages: thought, thinking: { type: 'enabled', budget_tokens: 1024 } }),
    tools: async () => {
      const { content } = await create({ messages: question, tools })
      const { id } = content.find(({ type }) => type === 'tool_use')
      const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: weather }] }
      await create({ messages: [...question, { role: 'assistant', content }, result], tools })
    },
    'counting tokens': () => messages.countTokens({ model, messages: greeting }),
  }
}
