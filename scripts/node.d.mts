export function ensureNode(): Promise<void>
