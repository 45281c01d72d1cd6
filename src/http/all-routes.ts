import type { FastifyInstance } from 'fastify'
import type { Dialect } from '../contract/dialect.ts'
import type { ServedRoute } from './access/route-guard.ts'
import type { BodyRoom } from './body/body-room.ts'
import { addSdkRoutes, type SdkSockets } from './lm-studio-sdk/sdk-sockets.ts'
import type { KeptStreams } from './reply/kept-streams.ts'
import { addKoboldRoutes } from './routes/local-servers/routes-kobold.ts'
import { addLlamaServerRoutes } from './routes/local-servers/routes-llama-server.ts'
import { addLmStudioRoutes } from './routes/local-servers/routes-lm-studio.ts'
import { addMlcRoutes } from './routes/local-servers/routes-mlc.ts'
import { addOllamaRoutes } from './routes/local-servers/routes-ollama.ts'
import { addOtherLists } from './routes/local-servers/routes-other-lists.ts'
import { addPresetRoutes } from './routes/local-servers/routes-presets.ts'
import { addRouterRoutes } from './routes/local-servers/routes-router.ts'
import { addStreamRoutes } from './routes/local-servers/routes-streams.ts'
import { addTabbyRoutes } from './routes/local-servers/routes-tabby.ts'
import { addUnslothRoutes } from './routes/local-servers/routes-unsloth.ts'
import { addBatchRoutes } from './routes/openai/routes-batches.ts'
import { addCompletionRoutes } from './routes/openai/routes-completions.ts'
import { addConversationRoutes } from './routes/openai/routes-conversations.ts'
import { addFileRoutes } from './routes/openai/routes-files.ts'
import { addMediaServiceRoutes } from './routes/openai/routes-media-services.ts'
import { addOpenaiRoutes, type OpenaiDialects } from './routes/openai/routes-openai.ts'
import { addResponsesRoutes, type ResponsesParts } from './routes/openai/routes-responses.ts'
import { addActivityRoutes } from './routes/own/routes-activity.ts'
import { addCancelRoute } from './routes/own/routes-cancel.ts'
import { addCatalogueRoute } from './routes/own/routes-catalogue.ts'
import { addEventRoute } from './routes/own/routes-events.ts'
import { addMcpRoute } from './routes/own/routes-mcp.ts'
import { addModelFileRoutes } from './routes/own/routes-model-file.ts'
import { addOpenapiRoutes } from './routes/own/routes-openapi.ts'
import { addOpsRoutes } from './routes/own/routes-ops.ts'
import { addPageRoutes } from './routes/own/routes-page.ts'
import { addReplicaRoutes } from './routes/own/routes-replicas.ts'
import { addRootRoutes } from './routes/own/routes-root.ts'
import { addSandboxRoute } from './routes/own/routes-sandbox.ts'
import { addToolRoutes } from './routes/own/routes-tools.ts'
import { addAddedDialects } from './routes/routes-added-dialects.ts'
import { addAnthropicRoutes } from './routes/routes-anthropic.ts'
import { addLlamaStackRoutes, stackRoutes } from './routes/routes-llama-stack.ts'
import { addMessageBatchRoutes } from './routes/routes-message-batches.ts'
import { addModelRoutes } from './routes/routes-model.ts'
import { addModelListRoutes } from './routes/routes-models.ts'
import { addTemplateRoutes } from './routes/routes-templates.ts'
import { addTokenRoutes } from './routes/routes-tokens.ts'
import type { GoesOn, ServerDeps } from './run/deps.ts'

type RouteDeps = ServerDeps &
  OpenaiDialects &
  ResponsesParts & {
    readonly messages: Dialect
    readonly streams: KeptStreams
    readonly room: BodyRoom
    readonly bodyLimitBytes: number
    readonly sdkSockets: SdkSockets
    readonly servedRoutes: () => readonly ServedRoute[]
    /** The server is about to end. */
    readonly isDraining: () => boolean
    readonly goesOn: GoesOn
  }

/** The modules of routes, in the order in which they are listed to clients that ask for all of them. */
const modules: readonly ((app: FastifyInstance, deps: RouteDeps) => void)[] = [
  addOpenaiRoutes,
  addCompletionRoutes,
  addAnthropicRoutes,
  addResponsesRoutes,
  addConversationRoutes,
  addFileRoutes,
  addBatchRoutes,
  addMessageBatchRoutes,
  addMediaServiceRoutes,
  addMcpRoute,
  addCancelRoute,
  addSandboxRoute,
  addModelListRoutes,
  addLlamaStackRoutes,
  addAddedDialects,
  addModelRoutes,
  addUnslothRoutes,
  addReplicaRoutes,
  addActivityRoutes,
  addCatalogueRoute,
  addToolRoutes,
  addModelFileRoutes,
  addEventRoute,
  addTabbyRoutes,
  addMlcRoutes,
  addOllamaRoutes,
  addPresetRoutes,
  addTemplateRoutes,
  addTokenRoutes,
  addLlamaServerRoutes,
  addRouterRoutes,
  addStreamRoutes,
  addLmStudioRoutes,
  addSdkRoutes,
  addOtherLists,
  addKoboldRoutes,
  addRootRoutes,
  addPageRoutes,
  addOpenapiRoutes,
  addOpsRoutes,
]

export function addAllRoutes(app: FastifyInstance, deps: RouteDeps): void {
  for (const add of modules) add(app, deps)
}

/** The paths that generate; replies to requests for other protocols name them. */
export const generatingPaths: readonly string[] = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/messages',
  '/v1/responses',
  ...stackRoutes.flatMap(({ paths }) => paths),
]
