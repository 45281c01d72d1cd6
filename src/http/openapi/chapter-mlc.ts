import { debugFields, debugSchema } from '../../dialect/mlc/debug-requests.ts'
import { anyObject, list, number, object, oneOf, text } from '../../dialect/wire/json/shapes.ts'
import type { Body, Chapter } from './operation.ts'

const debug: Body = { name: 'DebugRequest', schema: debugSchema, fields: debugFields }
const traceEvent = object({ name: text, ph: oneOf(['B', 'E', 'i']), ts: number, pid: number, tid: text })

export const mlc: Chapter = {
  tag: 'MLC-LLM',
  about: "MLC-LLM's routes for those who look into an engine, with `server.debug: on`",
  operations: {
    'POST /debug/dump_event_trace': {
      title: 'The requests of a model with their phases, as Chrome shows traces',
      body: debug,
      reply: list(traceEvent),
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
