/** The name of this program in advice; in a checkout, where it is not on the PATH, the scripts set it. */
export const commandName: string = process.env.DRAGOMAN_COMMAND ?? 'dragoman'
