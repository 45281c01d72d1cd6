import { debugFields, debugSchema } from '../../dialect/mlc/debug-requests.ts'
import { eventTrace } from '../../dialect/mlc/replies.ts'
import { anyObject, object } from '../../dialect/wire/json/shapes.ts'
import type { Body, Chapter } from './operation.ts'

const debug: Body = { name: 'DebugRequest', schema: debugSchema, fields: debugFields }

export const mlc: Chapter = {
  tag: 'MLC-LLM',
  about: "MLC-LLM's routes for those who look into an engine, with `server.debug: on`",
  operations: {
    'POST /debug/dump_event_trace': {
      title: 'The requests of a model with their phases, as Chrome shows traces',
      body: debug,
      reply: eventTrace,
      example: { model: 'MODEL' },
    },
    'POST /debug/dump_engine_metrics': {
      title: 'What the requests of a model have taken since its reset',
      body: debug,
      reply: object({ metrics: anyObject }),
      example: { model: 'MODEL' },
    },
    'POST /debug/reset_engine': {
      title: 'Cancel the requests of a model, and start it again with empty caches',
      body: debug,
      reply: object({}),
      example: { model: 'MODEL' },
    },
  },
}
