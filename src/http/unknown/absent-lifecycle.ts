/** The routes that load and unload models, or show loaded ones. */
const paths =
  /^\/(api\/inference\/(load|load-progress|status|unload|validate)|api\/v1\/models\/(load|unload|download(\/status\/[^/]+)?)|v1\/(download|lora(s|\/list|\/load|\/unload)?|model\/(embedding\/)?(load|unload)))\/?$/

/** Why a server of several processes lacks such a route; undefined for other paths. */
export function whyLifecycleIsAbsent(path: string): string | undefined {
  if (!paths.test(path)) return undefined
  return (
    'on a server of several processes (server.workers is more than 1), because what one process loads, the others would not have; ' +
    'set server.workers to 1, or add a remote model to `models` of the configuration file, which needs no restart'
  )
}
