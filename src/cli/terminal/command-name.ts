/** How this program is called, for advice: in a checkout, where it is not on the PATH, the scripts say so. */
export const commandName: string = process.env.DRAGOMAN_COMMAND ?? 'dragoman'
