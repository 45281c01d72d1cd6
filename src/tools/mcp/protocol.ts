// What we use of the protocol's own client. Packing replaces what is built from this file by a bundle of it (scripts/trim-package.mjs): an
// installed Dragoman needs a twentieth of that package.
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
