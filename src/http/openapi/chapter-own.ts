import { z } from 'zod'
import { newKeyFields, newKeySchema } from '../../dialect/own/keys.ts'
import {
  catalogueSchema,
  deleteFileSchema,
  estimateSchema,
  eventsSchema,
  logsSchema,
  modelFileSchema,
  requestsSchema,
  usageSchema,
} from '../../dialect/own/queries.ts'
import * as reply from '../../dialect/own/replies.ts'
import { ownServersFields, ownServersSchema } from '../../dialect/own/tools.ts'
import { drainFields } from '../../dialect/replicas/fields.ts'
import { drainSchema } from '../../dialect/replicas/requests.ts'
import { cancelShape } from '../../dialect/wire/cancel-keys.ts'
import { anyObject, list, number, object, oneOf, text } from '../../dialect/wire/json/shapes.ts'
import { type Body, type Chapter, sse } from './operation.ts'

const drain: Body = { name: 'DrainRequest', schema: drainSchema, fields: drainFields }
const drained = object({
  status: oneOf(['draining', 'in_use']),
  model: text,
  servers: list(object({ host: text, active_requests: number })),
})
const key = text.optional()
const mcpMessage = object({
  jsonrpc: oneOf(['2.0']),
  method: key,
  id: z.union([text, number]).optional(),
  params: anyObject.optional(),
})

export const own: Chapter = {
  tag: 'Dragoman',
  about: 'Health, metrics, cancelling, servers of remote models, and this description',
  operations: {
    'GET /health': { title: 'Whether the server runs', also: ['/api/health'], reply: object({ status: text, version: text }) },
    'GET /ready': {
      title: 'The states of the models; 503 until the server is ready',
      reply: object({ status: oneOf(['ready', 'not-ready', 'draining']), models: list(anyObject) }),
      statuses: [200, 503],
    },
    'GET /metrics': { title: 'Metrics for Prometheus', reply: { types: ['text/plain'] } },
    'POST /api/inference/cancel': {
      title: 'Cancel running requests by their keys; a body that cannot be read names none',
      body: {
        name: 'CancelRequest',
        schema: object({ ...cancelShape, completion_id: key, message_id: key, response_id: key }),
        isOptional: true,
      },
      reply: object({ cancelled: number }),
      example: { cancel_id: 'my-request' },
    },
    'GET /api/inference/sandbox/{session}/{file}': {
      title: 'A picture that a tool of the server has made in a session',
      reply: { types: ['image/*'] },
    },
    'POST /api/inference/replicas/drain': {
      title: 'Take a server of a remote model out of use',
      body: drain,
      reply: drained,
      example: { model: 'MODEL', url: 'http://127.0.0.1:8000' },
    },
    'POST /api/inference/replicas/undrain': {
      title: 'Use a server again',
      body: drain,
      reply: drained,
      example: { model: 'MODEL', url: 'http://127.0.0.1:8000' },
    },
    'GET /': { title: 'The page for browsers; for others, that the server runs', reply: { types: ['text/plain', 'text/html'] } },
    'GET /page/{name}': {
      title: 'A file that the page loads',
      reply: { types: ['text/javascript', 'text/css', 'image/svg+xml'] },
    },
    'GET /api/caller': {
      title: 'Who the key belongs to, and what it allows',
      reply: object({ id: text, scopes: list(oneOf(['inference', 'metrics', 'tools', 'admin'])), models: list(text).optional() }),
    },
    'GET /api/server': { title: 'The models, with what they do now, their memory, and loads under way', reply: reply.server },
    'GET /api/catalogue': {
      title:
        'The models that POST /api/pull fetches by name; with `search`, also repositories of Hugging Face. `fits`: this machine has the memory',
      query: catalogueSchema,
      reply: reply.offers,
    },
    'GET /api/tools': {
      title:
        'The tools that the server runs for the key, for `enabled_tools`; `absent`: tools and MCP servers that cannot be used now; ' +
        '`own_server_hosts`: where its requests may name MCP servers of their own',
      reply: reply.serverTools,
    },
    'POST /api/tools': {
      title: 'The tools of MCP servers that a request would name',
      body: { name: 'OwnServers', schema: ownServersSchema, fields: ownServersFields },
      reply: reply.serverTools,
      example: { mcp_servers: [{ name: 'own', url: 'https://mcp.example.com/mcp' }] },
    },
    'GET /api/model-file': {
      title: 'The file of a model on this machine, and the memory that a load with these settings takes',
      query: modelFileSchema,
      reply: reply.modelFile,
    },
    'GET /api/load-estimate': {
      title:
        'The files and the memory that a model would take, which may be one that POST /api/pull fetches: only its header is read',
      query: estimateSchema,
      reply: reply.loadEstimate,
    },
    'DELETE /api/model-file': {
      title: 'Delete the fetched file of a model, which is unloaded first',
      query: deleteFileSchema,
      reply: reply.deletedFile,
    },
    'GET /api/requests': {
      title: 'The requests that run and the last ones that ended, the newest first: those of the key, with the scope `admin` all',
      query: requestsSchema,
      reply: reply.requests,
    },
    'GET /api/requests/{id}': {
      title: 'One of them, by the id of its reply; with what was sent, where requests are captured',
      reply: reply.request,
    },
    'GET /api/events': {
      title:
        'What happens, as events: `requests` (those that are new or have changed), `server` (as GET /api/server, when it has changed), ' +
        '`load` (what each 10 seconds of the last hour had), `logs` (lines; scope `admin`), and after each piece `read`, whose id is the ' +
        'place to continue from (`last-event-id`). `missed` counts what was forgotten before the reader came to it',
      query: eventsSchema,
      stream: sse(reply.event),
    },
    'GET /api/logs': { title: 'The last lines of the log', query: logsSchema, reply: reply.logs },
    'GET /api/keys': { title: 'The keys, without the keys themselves', reply: reply.keys },
    'POST /api/keys': {
      title: 'Make a key, which only this reply has',
      body: { name: 'NewKey', schema: newKeySchema, fields: newKeyFields },
      reply: reply.madeKey,
      statuses: [201],
      example: { name: 'alice', scopes: ['inference'], requests_per_minute: 60 },
    },
    'GET /api/usage': {
      title: 'What the caller (with the scope `admin`: every key) has used, by day and model, and the budgets of the caller',
      query: usageSchema,
      reply: reply.usage,
    },
    'DELETE /api/keys/{id}': { title: 'Delete a key that a request or a command has made', reply: reply.deletedKey },
    'POST /mcp': {
      title: 'An MCP server (streamable HTTP), whose tools are `chat`, `list_models` and `usage`',
      body: { name: 'McpMessage', schema: mcpMessage },
      reply: anyObject,
      stream: sse(anyObject),
      emptyStatus: 202,
      example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    },
    'GET /docs': { title: 'This description as a page', reply: { types: ['text/html'] } },
    'GET /openapi.json': { title: 'This description', reply: anyObject },
    'GET /favicon.ico': { title: 'Nothing: browsers ask for it', reply: 'empty', statuses: [204] },
  },
}
