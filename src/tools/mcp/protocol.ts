// The parts of the protocol's own client that we use. Packing replaces the output of this file by a bundle of them
// (scripts/trim-package.mjs): an installed Dragoman needs a twentieth of that package.
export {
  Client,
  isJSONRPCResponse,
  ProtocolError,
  ReadBuffer,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  serializeMessage,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
