/** An absolute path in a text, of Unix or Windows, and neither a URL's nor a route's; its last part is a group. */
const absolutePath = /(?<![\w:/.~-])(?!\/v1\/)(?:~?\/|[A-Za-z]:[\\/])(?:[^\s'"`,;:()<>|/\\]+[\\/])+([^\s'"`,;:()<>|/\\]+)/g

/** A message without the folders of this machine: the names of files stay. */
export function hidePaths(message: string): string {
  return message.replace(absolutePath, '…/$1')
}
