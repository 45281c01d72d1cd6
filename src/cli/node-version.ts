export const oldestNode = '22.13'

/** Whether Dragoman supports this version of Node.js. */
export function isSupportedNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 13)
}
