import { expect, test } from 'vitest'
import { withOpenInference } from './open-inference.ts'

const asked = { 'gen_ai.request.model': 'm', 'gen_ai.request.max_tokens': 9, 'gen_ai.request.temperature': { double: 0.5 } }

test.each<[string, object, object]>([
  [
    'a generation',
    {
      'gen_ai.operation.name': 'chat',
      ...asked,
      'gen_ai.response.model': 'm1',
      'gen_ai.usage.input_tokens': 3,
      'gen_ai.usage.output_tokens': 4,
    },
    {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'm1',
      'llm.token_count.prompt': 3,
      'llm.token_count.completion': 4,
      'llm.token_count.total': 7,
      'llm.invocation_parameters': '{"max_tokens":9,"temperature":0.5}',
    },
  ],
  [
    'embeddings',
    { 'gen_ai.operation.name': 'embeddings', 'gen_ai.response.model': 'e' },
    { 'openinference.span.kind': 'EMBEDDING', 'embedding.model_name': 'e', 'llm.model_name': 'e' },
  ],
  [
    'a tool',
    { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'web_search' },
    { 'openinference.span.kind': 'TOOL', 'tool.name': 'web_search' },
  ],
  ['a request without a model', { 'http.route': '/v1/models/load' }, {}],
])('%s has the names of OpenInference beside the others', (_, attributes, added) => {
  const { 'llm.system': __, ...all } = withOpenInference({ ...attributes })
  expect(JSON.parse(JSON.stringify(all))).toEqual({ ...attributes, ...added })
})
